// Files of the node that say where leases are kept: used or refused, and no error shows what is in them. Whoever may
// write networks can name any file of some directories as one.
#include "refusal.hpp"
#include "store_keys.hpp"
#include "support/directory.hpp"

#include <rdmanet/ipam/config.hpp>

#include <algorithm>
#include <string>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

constexpr const char* kUnusable = "it cannot be used: expected what a network has there in \"ipam\"";
constexpr const char* kNoJson = "it is not JSON: expected an object with \"store\" or \"kubernetes\"";

const test::Directory& directory() {
    static const test::Directory one;
    return one;
}

const std::string& path() {
    static const std::string file = ipam::kNodeFile;
    return file;
}

/// Of a place in the file, and so of its keys; an index is a number.
void demand_place(const std::string& place) {
    demand(place == path() || place.starts_with(path() + ": "), "the error names no file");
    const std::string_view keys = std::string_view(place).substr(std::min(place.size(), path().size() + 2));
    demand(std::all_of(keys.begin(), keys.end(),
                       [](char c) {
                           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                                  c == '.' || c == '_' || c == '[' || c == ']';
                       }),
           "the error has more than keys of the file: " + place);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    directory().write(path(), as_text(data, size));
    const json::Document ipam = json::Document::parse("{}");
    try {
        const ipam::StoreKeys keys = ipam::read_store_keys(ipam.root(), directory().path());
        demand(!keys.kubeconfig || keys.kubeconfig->text.starts_with('/'), "a kubeconfig without an absolute path");
        demand(!keys.store || keys.store->where.starts_with(path()), "a store that no file has named");
    } catch (const json::ValueError& error) {
        demand_place(error.path());
        const std::string what = error.what();
        demand(what.ends_with(kUnusable) || what.ends_with(kNoJson), "the error may show the file: " + what);
        demand_document(static_cast<int>(cni::ErrorCode::invalid_network_config), error.what(), {});
    }
    return 0;
}
