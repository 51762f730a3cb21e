// The line to etcd: it is slow, and it is cut while ADD and DEL run.
#include "cluster_calls.hpp"
#include "etcd_stage.hpp"

#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace rdmanet::test {

TEST_CASE("a connection to etcd that is slow, or is cut at any byte of an ADD or DEL, costs no address", "[etcd]") {
    NEEDS(etcd_lacks().empty(), etcd_lacks());
    const std::string prefix = "/rdmanet/e2e-cut";
    const Stage stage;
    const auto call_by = [&](const std::string& at, const std::string& times = "") {
        return etcd_call(stage.pod, prefix, "'range':'10.54.0.0/24'", at, times);
    };
    const PluginCall call = call_by(etcd_endpoint());
    (void)add(call); // records the range and the node
    CHECK(del(call) == "");

    /// Adds, or removes what was added, by the line. What the ADD said.
    const auto use = [&](const EtcdLine& line, bool is_del) {
        ProcessResult added = (is_del ? call : call_by(line.url())).run();
        if (is_del) {
            move_records(etcd_endpoint(), line.url());
            CHECK(del(call) == "");
        }
        move_records(line.url(), etcd_endpoint());
        return added;
    };
    std::size_t requests[2]{};
    std::size_t answers[2]{};
    for (const bool is_del : {false, true}) {
        const EtcdLine line;
        CHECK(use(line, is_del).exit_status == 0);
        CHECK(del(call) == "");
        requests[is_del] = line.bytes_of_requests();
        answers[is_del] = line.bytes_of_answers();
    }
    CHECK(etcd_keys(prefix) == "");
    constexpr std::size_t kPoints = 8;
    int given = 0;
    for (const bool is_del : {false, true})
        for (std::size_t point = 0; point < 2 * kPoints; ++point) {
            const bool cuts_requests = point < kPoints;
            const std::size_t bytes = (point % kPoints + 1) * (cuts_requests ? requests : answers)[is_del] / kPoints;
            INFO((is_del ? "DEL" : "ADD") << (cuts_requests ? ", requests" : ", answers") << " cut after " << bytes);
            const EtcdLine line(cuts_requests ? bytes : EtcdLine::kNever, cuts_requests ? EtcdLine::kNever : bytes);
            const ProcessResult added = use(line, is_del);
            if (added.exit_status == 0)
                ++given;
            else
                CHECK_THAT(error_of(added), Names("code 11", line.url()));
            CHECK(del(call) == "");
        }
    CHECK(given > static_cast<int>(2 * kPoints)); // not only before the DELs
    pay_debts();
    CHECK(etcd_keys(prefix) == "");
    CHECK(records_left() == "");

    EtcdLine slow;
    slow.set_delay(std::chrono::milliseconds(50)); // for each piece
    CHECK(use(slow, false).exit_status == 0);
    CHECK(del(call) == "");
    CHECK(use(slow, true).exit_status == 0);
    slow.set_delay(std::chrono::milliseconds(400));
    CHECK_THAT(refusal(call_by(slow.url(), ",'connectTimeoutMs':300,'requestTimeoutMs':300,'addTimeoutMs':1000")),
               Names("code 11", slow.url(), "no answer"));
    slow.set_delay(std::chrono::milliseconds(0));
    move_records(slow.url(), etcd_endpoint());
    pay_debts();
    CHECK(etcd_keys(prefix) == "");
    CHECK(records_left() == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
