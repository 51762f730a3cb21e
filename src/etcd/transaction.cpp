#include <rdmanet/etcd/transaction.hpp>

#include <rdmanet/base/base64.hpp>
#include <rdmanet/json/writer.hpp>

namespace rdmanet::etcd {
namespace {

using base::encode_base64;

/// Keys and values are bytes, which protobuf's JSON mapping writes in base64, and 64-bit numbers as text.
std::string compare_text(std::string_view key, std::string_view end, std::string_view target, std::string_view member,
                         std::int64_t revision) {
    json::Writer compare;
    compare.begin_object().member("target", target).member("key", encode_base64(key));
    if (!end.empty()) compare.member("range_end", encode_base64(end));
    return compare.member(member, std::to_string(revision)).end_object().to_text();
}

std::string read_text(const Range& range) {
    json::Writer read;
    read.begin_object().key("request_range").begin_object().member("key", encode_base64(range.key));
    if (!range.end.empty()) read.member("range_end", encode_base64(range.end));
    if (range.limit != 0) read.member("limit", std::to_string(range.limit));
    if (range.want == Range::Want::keys) read.member("keys_only", true);
    if (range.want == Range::Want::count) read.member("count_only", true);
    return read.end_object().end_object().to_text();
}

void write_all(json::Writer& writer, std::string_view name, const std::vector<std::string>& texts) {
    writer.key(name).begin_array();
    for (const std::string& text : texts) writer.raw(text);
    writer.end_array();
}

} // namespace

std::string end_of_prefix(std::string prefix) {
    while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
    if (prefix.empty()) return std::string(1, '\0'); // to the end of all keys
    prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
    return prefix;
}

// A key that does not exist has creation revision 0 (etcd, mvcc and etcdserver/apply.go, applyCompare); a range without
// keys compares like one.
Transaction& Transaction::if_absent(std::string_view key) {
    compare_.push_back(compare_text(key, {}, "CREATE", "create_revision", 0));
    return *this;
}

Transaction& Transaction::if_none_below(const std::string& prefix) {
    compare_.push_back(compare_text(prefix, end_of_prefix(prefix), "CREATE", "create_revision", 0));
    return *this;
}

Transaction& Transaction::if_unchanged(std::string_view key, std::int64_t revision) {
    compare_.push_back(compare_text(key, {}, "MOD", "mod_revision", revision));
    return *this;
}

Transaction& Transaction::if_unchanged_below(const std::string& prefix, std::int64_t revision) {
    json::Writer compare;
    compare.begin_object().member("target", "MOD").member("result", "LESS").member("key", encode_base64(prefix));
    compare.member("range_end", encode_base64(end_of_prefix(prefix)));
    compare_.push_back(compare.member("mod_revision", std::to_string(revision + 1)).end_object().to_text());
    return *this;
}

// A key that does not exist has no value, not an empty one (applyCompare again).
Transaction& Transaction::if_value(std::string_view key, std::string_view value) {
    json::Writer compare;
    compare.begin_object().member("target", "VALUE").member("key", encode_base64(key));
    compare_.push_back(compare.member("value", encode_base64(value)).end_object().to_text());
    return *this;
}

Transaction& Transaction::put(std::string_view key, std::string_view value) {
    json::Writer put;
    put.begin_object().key("request_put").begin_object();
    put.member("key", encode_base64(key)).member("value", encode_base64(value));
    success_.push_back(put.end_object().end_object().to_text());
    changes_ = true;
    return *this;
}

Transaction& Transaction::remove(std::string_view key) {
    json::Writer remove;
    remove.begin_object().key("request_delete_range").begin_object().member("key", encode_base64(key));
    success_.push_back(remove.end_object().end_object().to_text());
    changes_ = true;
    return *this;
}

Transaction& Transaction::read(const Range& range) {
    success_.push_back(read_text(range));
    ++reads_;
    return *this;
}

Transaction& Transaction::else_read(const Range& range) {
    failure_.push_back(read_text(range));
    return *this;
}

std::string Transaction::to_text() const {
    json::Writer writer;
    writer.begin_object();
    if (!compare_.empty()) write_all(writer, "compare", compare_);
    if (!success_.empty()) write_all(writer, "success", success_);
    if (!failure_.empty()) write_all(writer, "failure", failure_);
    return writer.end_object().to_text();
}

} // namespace rdmanet::etcd
