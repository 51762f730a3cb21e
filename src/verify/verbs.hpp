// libibverbs' objects, each with one owner.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>

namespace rdmanet::verify {

template <auto kClose>
struct CloseVerbs {
    template <class Object>
    void operator()(Object* object) const noexcept {
        (void)kClose(object); // it fails only for objects that others still use
    }
};
template <class Object, auto kClose>
using Verbs = std::unique_ptr<Object, CloseVerbs<kClose>>;

using Context = Verbs<ibv_context, ibv_close_device>;
using ProtectionDomain = Verbs<ibv_pd, ibv_dealloc_pd>;
using CompletionQueue = Verbs<ibv_cq, ibv_destroy_cq>;
using MemoryRegion = Verbs<ibv_mr, ibv_dereg_mr>;
using QueuePair = Verbs<ibv_qp, ibv_destroy_qp>;

/// The device of that name in the thread's network namespace, whose sysfs the environment variable SYSFS_PATH names
/// (libibverbs, ibv_get_sysfs_path()). Throws Failure if libibverbs does not see it, and base::SystemError.
[[nodiscard]] Context open_device(const std::string& name);

} // namespace rdmanet::verify
