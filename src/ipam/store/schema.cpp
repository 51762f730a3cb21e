#include "schema.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <sys/stat.h>

#include <cerrno>

namespace rdmanet::ipam {
namespace {

constexpr std::int64_t kPageSize = 4096;

// STRICT: SQLite would otherwise store text in an INTEGER column. WITHOUT ROWID saves a tree.
constexpr const char* kSchema = R"sql(
PRAGMA page_size = 4096;
PRAGMA user_version = 1;
CREATE TABLE leases(
  space TEXT NOT NULL, address BLOB NOT NULL, prefix_length INTEGER NOT NULL, slot INTEGER NOT NULL,
  network TEXT NOT NULL, container TEXT NOT NULL, ifname TEXT NOT NULL,
  pod TEXT NOT NULL, pod_namespace TEXT NOT NULL, pod_name TEXT NOT NULL, pod_uid TEXT NOT NULL,
  netns_path TEXT NOT NULL, netns_cookie INTEGER NOT NULL, netns_inode INTEGER NOT NULL,
  pid_namespace_inode INTEGER NOT NULL, boot_id TEXT NOT NULL, since INTEGER NOT NULL, cooldown INTEGER NOT NULL,
  PRIMARY KEY(space, address)) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX leases_by_owner ON leases(container, ifname, network, slot);
CREATE INDEX leases_by_pod ON leases(pod, ifname, network) WHERE pod <> '';
CREATE TABLE cooling(
  space TEXT NOT NULL, address BLOB NOT NULL, until INTEGER NOT NULL,
  PRIMARY KEY(space, address)) STRICT, WITHOUT ROWID;
CREATE INDEX cooling_by_end ON cooling(space, until);
CREATE TABLE runs(
  space TEXT NOT NULL, first BLOB NOT NULL, last BLOB NOT NULL,
  PRIMARY KEY(space, first)) STRICT, WITHOUT ROWID;
)sql";

void check_size(const Database& database) {
    // SQLite reads what is missing of a last page as zeros, and would find fewer leases than there are. A file without
    // content is a new database to it; ours are put in place complete.
    struct stat status {};
    if (::stat(database.path().c_str(), &status) != 0 && errno == ENOENT) throw DatabaseMoved{};
    if (status.st_size == 0 || status.st_size % kPageSize != 0)
        database.fail_as_damaged(fmt::format("cut short at {} bytes", status.st_size));
}

void check_version(Database& database) {
    Query query = database.query("PRAGMA user_version");
    const std::int64_t version = query.step() ? query.integer(0) : 0;
    if (version == kSchemaVersion) return;
    if (version <= 0) database.fail_as_damaged("it carries no version");
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("lease store {} has version {}, this program knows versions up to {}: use the rdmanet "
                                 "that wrote it, or a newer one",
                                 base::quoted(database.path()), version, kSchemaVersion));
}

} // namespace

void create_schema(Database& database) {
    database.run_script(kSchema);
}

void check_format(Database& database) {
    check_size(database);
    check_version(database);
}

} // namespace rdmanet::ipam
