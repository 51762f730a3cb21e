#include "verbs.hpp"

#include "failure.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <cerrno>
#include <vector>

namespace rdmanet::verify {
namespace {

struct FreeList {
    void operator()(ibv_device** list) const noexcept { ::ibv_free_device_list(list); }
};

} // namespace

Context open_device(const std::string& name) {
    // In the static executable this call is what brings all providers into it (infiniband/verbs.h).
    const std::unique_ptr<ibv_device*, FreeList> list(ibv_get_device_list(nullptr));
    if (!list) throw base::SystemError("list RDMA devices through libibverbs", errno);
    std::vector<std::string> others;
    for (ibv_device** each = list.get(); *each != nullptr; ++each) {
        if (name != ::ibv_get_device_name(*each)) {
            others.emplace_back(::ibv_get_device_name(*each));
            continue;
        }
        Context context(::ibv_open_device(*each));
        if (!context) throw base::SystemError(fmt::format("open RDMA device {}", name), errno);
        return context;
    }
    throw Failure(fmt::format("libibverbs does not find RDMA device {}, it finds {}", name,
                              others.empty() ? "none" : base::join(others)),
                  "the kernel's driver may be newer than rdmanet's libibverbs: look at `rdmanet doctor`");
}

} // namespace rdmanet::verify
