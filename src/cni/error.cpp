#include <rdmanet/cni/error.hpp>

#include <rdmanet/json/writer.hpp>

namespace rdmanet::cni {

std::string format_error(std::string_view cni_version, int code, std::string_view message, std::string_view details) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().member("cniVersion", cni_version).member("code", code).member("msg", message);
    if (!details.empty()) writer.member("details", details);
    return writer.end_object().to_text() + '\n';
}

} // namespace rdmanet::cni
