// The requests of whereabouts 0.9.4 for one ADD, with its waits. It stands for the other side of a comparison. What is
// not alike:
//   - It starts no process, and decodes no more of an answer than it must.
//   - It sends one request after the other. whereabouts renews its Lease while it lists the pools.
// Beside the program itself, on one server: the same ten requests, the same processor time of the server, and a little
// less time for each ADD.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/http/client.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/kube/access.hpp>

#include <chrono>
#include <memory>
#include <random>
#include <string>

namespace rdmanet::test {

class WhereaboutsReplay {
public:
    using Clock = std::chrono::steady_clock;

    /// One process of whereabouts: a connection of its own.
    WhereaboutsReplay(const kube::Access& access, std::string space, base::IpPrefix subnet, std::string podref,
                      std::string container);

    /// Throws if whereabouts would have given up.
    void add();

private:
    struct Answer {
        unsigned status = 0;
        std::string body;
    };
    struct Lease {
        std::string holder;
        std::string renewed;
        std::string version;
        unsigned transitions = 0;
    };

    Answer ask(std::string_view method, const std::string& path, std::string body = {},
               const char* content_type = "application/json");
    void become_leader();
    [[nodiscard]] bool try_to_lead();
    [[nodiscard]] bool write_lease(bool creates);
    void renew_if_due();
    void stop_leading();
    void take_address();

    const kube::Access& access_;
    std::string space_;
    base::IpPrefix subnet_;
    std::string podref_;
    std::string container_;
    std::unique_ptr<http::Client> client_;
    Lease seen_;
    Clock::time_point seen_at_;
    Clock::time_point renewed_at_;
    Clock::time_point end_;
    std::mt19937_64 random_{std::random_device{}()};
};

} // namespace rdmanet::test
