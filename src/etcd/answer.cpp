#include <rdmanet/etcd/transaction.hpp>

#include <rdmanet/base/base64.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/reader.hpp>

namespace rdmanet::etcd {
namespace {

/// A 64-bit number, which is text; absent if it is 0.
std::int64_t number_or_zero(const json::Reader& object, std::string_view key) {
    const auto member = object.find(key);
    if (!member) return 0;
    const auto number = base::parse_integer<std::int64_t>(member->string());
    if (!number || *number < 0) throw member->unexpected("a number as text");
    return *number;
}

std::string bytes_or_empty(const json::Reader& object, std::string_view key) {
    const auto member = object.find(key);
    if (!member) return {};
    auto bytes = base::decode_base64(member->string());
    if (!bytes) throw member->unexpected("base64");
    return *std::move(bytes);
}

Found parse_found(const json::Reader& range) {
    Found found{.entries = {}, .count = static_cast<std::uint64_t>(number_or_zero(range, "count"))};
    const auto entries = range.find("kvs");
    if (!entries) return found;
    for (const json::Reader& entry : entries->elements())
        found.entries.push_back({.key = bytes_or_empty(entry, "key"),
                                 .value = bytes_or_empty(entry, "value"),
                                 .revision = number_or_zero(entry, "mod_revision")});
    return found;
}

} // namespace

Answer parse_answer(std::string_view body) {
    const json::Document document = json::Document::parse(body);
    const json::Reader root = document.root();
    Answer answer{.succeeded = false, .revision = number_or_zero(root.at("header"), "revision"), .found = {}};
    if (const auto succeeded = root.find("succeeded")) answer.succeeded = succeeded->boolean();
    if (const auto responses = root.find("responses"))
        for (const json::Reader& response : responses->elements())
            if (const auto range = response.find("response_range")) answer.found.push_back(parse_found(*range));
    return answer;
}

} // namespace rdmanet::etcd
