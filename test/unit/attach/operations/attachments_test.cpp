// Every kind of attachment against a machine in memory: what ADD changes, that CHECK agrees, and that DEL and GC leave
// the machine as ADD found it, wherever a change fails or a call is killed.
#include "kinds.hpp"

#include <catch2/catch.hpp>

#include <cerrno>
#include <functional>
#include <iterator>

using namespace rdmanet;
using namespace rdmanet::attach::test;

namespace {

std::string text_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += "\n" + line;
    return text;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
        lines.push_back(text.substr(at, end - at));
    return lines;
}

/// The lines that only one of two sorted texts has.
std::string difference(const std::string& before, const std::string& now) {
    const auto one = lines_of(before);
    const auto other = lines_of(now);
    std::vector<std::string> only;
    std::set_symmetric_difference(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(only));
    return text_of(only);
}

/// A machine and a pod that are prepared for the kind.
class Prepared : public Rig {
public:
    explicit Prepared(const Kind& kind) : Rig(kind.members + (has_addresses(kind) ? kIpam : "")) {
        kind.prepare(*this);
        machine.changes.clear();
        before = machine.text();
    }
    /// The change at this place fails, and with `all` all later ones, as if the call had been killed.
    void fail(std::size_t place, bool all) {
        machine.changes.clear();
        machine.fails = [=](std::size_t at, const std::string&) {
            return at == place || (all && at > place) ? EIO : 0;
        };
    }
    void heal() { machine.fails = {}; }
    void require_restored() {
        REQUIRE(difference(before, machine.text()) == "");
        REQUIRE(records().empty());
    }
    std::string before;
};

/// Calls `act` for each change that the kind's call makes. `act` returns false when there was no such change.
void for_each_change(const std::function<bool(const Kind& kind, std::size_t place)>& act) {
    for (const Kind* kind : kKinds) {
        std::size_t place = 1;
        INFO(kind->name);
        while (act(*kind, place)) ++place;
        CHECK(place > 1);
    }
}

} // namespace

TEST_CASE("ADD makes the planned changes, CHECK agrees, and DEL leaves the machine as it was") {
    for (const Kind* kind : kKinds) {
        INFO(kind->name);
        Prepared rig(*kind);
        const bool has_lease = has_addresses(*kind);
        const std::string lease =
            has_lease
                ? "\nkeep leases in a file of this node, because no cluster is configured: this range is given on "
                  "this node only"
                  "\nlease an address from range 10.9.0.0/24: 254 of 254 are free"
                : "";
        const std::string up = has_lease ? "\nadd 10.9.0.1/24 to pod's net1\nset pod's net1 up" : "";
        CHECK(text_of(rig.preview().actions) == lease + kind->plan);
        rig.log.clear(); // some kinds are warned of
        REQUIRE(rig.add() == "");
        CHECK(rig.log.size() == (kind == &kVirtual ? 1 : 0));
        rig.log.clear();
        CHECK(text_of(rig.take_changes()) == kind->add + up);
        CHECK(rig.check() == "");
        CHECK(rig.check_of_node() == "same");
        CHECK(rig.gc() == "");
        CHECK(rig.take_changes().empty());
        CHECK_THAT(rig.add(), Catch::Contains("already exists"));
        REQUIRE(rig.del() == "");
        CHECK(text_of(rig.take_changes()) == kind->del);
        rig.require_restored();
        REQUIRE(rig.del() == "");
        CHECK(rig.take_changes().empty());
        CHECK(text_of(rig.log) == "");
    }
}

TEST_CASE("DEL restores what the pod has set") {
    for (const Kind* kind : kKinds) {
        if (kind == &kRdmaOnly) continue; // the interface is another plugin's
        INFO(kind->name);
        Prepared rig(*kind);
        REQUIRE(rig.add() == "");
        meddle(rig);
        meddle_more(rig);
        REQUIRE(rig.del() == "");
        rig.require_restored();
    }
}

TEST_CASE("what the kernel returned at the end of the pod is restored by DEL, by GC and by the next ADD") {
    for (const Kind* kind : kKinds) {
        if (kind == &kRdmaOnly) continue;
        for (const char* by : {"DEL", "GC", "gc", "ADD"}) {
            INFO(kind->name << ", by " << by);
            Prepared rig(*kind);
            if (kind == &kVirtual) rig.before.clear(); // it ends with the pod
            REQUIRE(rig.add() == "");
            meddle(rig);
            meddle_more(rig);
            rig.machine.end_netns(rig.pod);
            if (by == std::string("DEL")) CHECK(rig.del() == "");
            if (by == std::string("GC")) CHECK(rig.gc() == "");
            if (by == std::string("gc")) CHECK(rig.gc_of_node() == "");
            if (by == std::string("ADD")) {
                rig.pod = rig.machine.add_netns(kPodPath);
                if (kind == &kVirtual) rig.machine.add_virtual("veth0", "veth");
                REQUIRE(rig.add() == "");
                CHECK(rig.check() == "");
                CHECK(rig.del() == "");
            }
            if (kind != &kVirtual) CHECK(difference(rig.before, rig.machine.text()) == "");
            CHECK(rig.records().empty());
        }
    }
}

TEST_CASE("an ADD whose change fails leaves the machine as it was") {
    for_each_change([](const Kind& kind, std::size_t place) {
        Prepared rig(kind);
        rig.fail(place, false);
        const std::string error = rig.add();
        INFO("change " << place << ", " << error);
        if (rig.machine.changes.size() < place) return false;
        REQUIRE_THAT(error, Catch::Contains("input/output error"));
        rig.require_restored();
        return true;
    });
}

TEST_CASE("DEL restores what a killed ADD left") {
    for_each_change([](const Kind& kind, std::size_t place) {
        Prepared rig(kind);
        rig.fail(place, true);
        (void)rig.add();
        INFO("change " << place);
        if (rig.machine.changes.size() < place) return false;
        rig.heal();
        REQUIRE(rig.del() == "");
        rig.require_restored();
        return true;
    });
}

TEST_CASE("a DEL whose change fails reports it, and the next DEL restores the rest") {
    for (const bool all : {false, true})
        for_each_change([&](const Kind& kind, std::size_t place) {
            Prepared rig(kind);
            REQUIRE(rig.add() == "");
            if (&kind != &kRdmaOnly) meddle(rig);
            rig.fail(place, all);
            const std::string error = rig.del();
            INFO("change " << place << (all ? " and later ones, " : ", ") << error);
            if (rig.machine.changes.size() < place) return false;
            REQUIRE_THAT(error, Catch::Contains("input/output error"));
            rig.heal();
            REQUIRE(rig.del() == "");
            rig.require_restored();
            return true;
        });
}
