#include <rdmanet/cni/error.hpp>

#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>

namespace rdmanet::cni {

std::string text_of_del(std::string_view text) {
    constexpr std::pair<std::string_view, std::string_view> kReplacements[] = {
        {"not found", "missing"}, {"no such file or directory", "absent (ENOENT)"}, {"no such file", "absent"}};
    std::string safe(text);
    for (const auto& [words, instead] : kReplacements)
        for (auto at = base::to_lower(safe).find(words); at != std::string::npos;
             at = base::to_lower(safe).find(words, at + instead.size()))
            safe.replace(at, words.size(), instead);
    return safe;
}

std::string format_error(std::string_view cni_version, int code, std::string_view message, std::string_view details) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().member("cniVersion", cni_version).member("code", code).member("msg", message);
    if (!details.empty()) writer.member("details", details);
    return writer.end_object().to_text() + '\n';
}

} // namespace rdmanet::cni
