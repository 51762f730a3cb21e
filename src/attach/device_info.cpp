#include "device_info.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/json/writer.hpp>

namespace rdmanet::attach {

void write_device_info(const std::string& path, const DevicePlan& plan, const std::string& rdma_device) {
    const auto pci = plan.address.pci();
    if (!pci) return;
    json::Writer writer;
    writer.begin_object().member("type", "pci").member("version", "1.1.0").key("pci").begin_object();
    writer.member("pci-address", pci->to_string());
    if (plan.vf) writer.member("pf-pci-address", plan.vf->of.pf.to_string());
    if (!rdma_device.empty()) writer.member("rdma-device", rdma_device);
    writer.end_object().end_object();
    base::make_directories(path.substr(0, path.rfind('/')));
    base::write_file_durably(path, writer.to_text());
}

} // namespace rdmanet::attach
