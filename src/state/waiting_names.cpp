#include <rdmanet/state/waiting_names.hpp>

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/state/fields.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <unistd.h>

namespace rdmanet::state {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kMostBytesOfNames = std::size_t{1} << 20U;

} // namespace

WaitingNames::WaitingNames(const std::string& state_directory)
    : directory_(state_directory), path_(fmt::format("{}/rdma-names.json", state_directory)) {}

bool WaitingNames::exist() const {
    return ::access(path_.c_str(), F_OK) == 0;
}

std::vector<WaitingName> WaitingNames::load(const std::string& boot_id) const {
    const auto text = base::read_file_if_exists(path_, kMostBytesOfNames);
    if (!text) return {};
    const json::Document document = json::Document::parse(*text);
    const json::Reader root = document.root();
    (void)root.at("version").integer(kVersion, kVersion);
    std::vector<WaitingName> names;
    if (root.at("bootID").string() != boot_id) return names;
    Fields from(root);
    from("names", names);
    return names;
}

void WaitingNames::save(const std::vector<WaitingName>& names, const std::string& boot_id) const try {
    write(names, boot_id);
} catch (const base::SystemError& error) {
    require_other_cause(directory_, error);
    throw;
}

void WaitingNames::write(const std::vector<WaitingName>& names, const std::string& boot_id) const {
    if (names.empty()) {
        (void)base::remove_file_durably(path_);
        return;
    }
    json::Writer writer(json::Layout::indented);
    writer.begin_object().member("version", kVersion).member("bootID", boot_id);
    std::vector<WaitingName> copy = names;
    Fields to(writer);
    to("names", copy);
    base::write_file_durably(path_, writer.end_object().to_text());
}

} // namespace rdmanet::state
