// The table `runs`: maximal runs of taken addresses. Every operation is a few searches, however many are taken.
#pragma once

#include "database.hpp"

#include <rdmanet/ipam/store.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

/// Adjacent addresses of one family in one space.
struct Run {
    std::string space;
    base::IpAddress first;
    base::IpAddress last;

    friend bool operator==(const Run&, const Run&) = default;
};

class Runs {
public:
    explicit Runs(Database& database) : database_(database) {}

    /// The lowest address in the claim's intervals that is in no run.
    [[nodiscard]] std::optional<base::IpAddress> lowest_free(const Claim& claim);

    /// Throws DamagedStore if the address is in a run already.
    void insert(const std::string& space, const base::IpAddress& address);
    /// Throws DamagedStore if the address is in no run.
    void erase(const std::string& space, const base::IpAddress& address);

    /// From the tables `leases` and `cooling`, reading all of them.
    void rebuild();
    /// True if rebuild() would change nothing.
    [[nodiscard]] bool are_right();

private:
    struct Bounds {
        base::IpAddress first;
        base::IpAddress last;
    };
    [[nodiscard]] std::optional<Bounds> run_at_or_below(const std::string& space, const base::IpAddress& address);
    [[nodiscard]] std::optional<base::IpAddress> last_of_run_from(const std::string& space,
                                                                  const base::IpAddress& first);
    void insert_run(const std::string& space, const base::IpAddress& first, const base::IpAddress& last);
    void erase_run(const std::string& space, const base::IpAddress& first);
    void set_last(const std::string& space, const base::IpAddress& first, const base::IpAddress& last);

    Database& database_;
};

} // namespace rdmanet::ipam
