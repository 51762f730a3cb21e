#include <rdmanet/ops/seen_stores.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <vector>

namespace rdmanet::ops {
namespace {

void write_count(json::Writer& writer, const char* key, const std::optional<cluster::SeenKind>& kind) {
    if (!kind) return;
    if (kind->is_served)
        writer.member(key, std::uint64_t{kind->count});
    else
        writer.key(key).raw("null");
}

} // namespace

std::string to_text(const cluster::SeenStores& seen) {
    std::vector<std::string> looked_at;
    std::string text;
    const std::string name_space = base::quoted(seen.name_space);
    if (seen.pools && !seen.pools->is_served)
        text += "the cluster does not know IPPools: if it should, correct the kubeconfig, or apply "
                "conf-examples/cluster-crds.yaml\n";
    else if (seen.pools && seen.pools->count == 0)
        text += fmt::format("namespace {} has no IPPools: if they are in another one, name it with --namespace\n",
                            name_space);
    else if (seen.pools)
        looked_at.push_back(
            fmt::format("{} in namespace {}", base::counted(seen.pools->count, "IPPool", "IPPools"), name_space));
    if (seen.blocks && seen.blocks->is_served && seen.blocks->count != 0)
        looked_at.push_back(base::counted(seen.blocks->count, "AddressBlock", "AddressBlocks"));
    if (!looked_at.empty()) text += fmt::format("looked at {}\n", base::join(looked_at));
    return text;
}

void write(json::Writer& writer, const cluster::SeenStores& seen) {
    writer.key("seen").begin_object();
    if (!seen.name_space.empty()) writer.member("namespace", seen.name_space);
    write_count(writer, "pools", seen.pools);
    write_count(writer, "blocks", seen.blocks);
    writer.end_object();
}

} // namespace rdmanet::ops
