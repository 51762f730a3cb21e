#include <rdmanet/etcd/memory.hpp>

#include <rdmanet/base/file.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

namespace rdmanet::etcd {
namespace {

constexpr std::size_t kLongestFile = 16U << 10U; // JSON web tokens are some hundred bytes

} // namespace

Memory::Memory(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    try {
        const auto text = base::read_regular_file_if_exists(path_, kLongestFile);
        if (!text) return;
        const json::Document document = json::Document::parse(*text);
        const json::Reader root = document.root();
        const std::int64_t revision = root.at("nodeRevision").integer(0, INT64_MAX);
        token = root.at("token").string();
        endpoint = root.at("endpoint").string();
        node = root.at("node").string();
        node_revision = revision;
        saved_ = *text;
    } catch (const base::Error&) { // as if it were absent
    }
}

void Memory::save() {
    const std::string text = to_text();
    if (path_.empty() || text == saved_) return;
    try {
        base::write_file_durably(path_, text);
        saved_ = text;
    } catch (const base::Error&) {
    }
}

std::string Memory::to_text() const {
    json::Writer writer;
    writer.begin_object().member("token", token).member("endpoint", endpoint);
    return writer.member("node", node).member("nodeRevision", node_revision).end_object().to_text();
}

} // namespace rdmanet::etcd
