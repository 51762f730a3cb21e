#include "whereabouts_replay.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/cluster/pools_store.hpp>
#include <rdmanet/json/writer.hpp>

#include <ctime>
#include <set>
#include <thread>

namespace rdmanet::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kObjects = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system";
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
constexpr const char* kLease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/whereabouts";
// Its defaults. The object has whole seconds, so 1500 ms are one.
constexpr auto kLeaseTime = 1s;
constexpr auto kRetryPeriod = 500ms;
constexpr double kJitter = 1.2;
constexpr auto kWholeAdd = 2min;
constexpr auto kAsLeader = 10s;
constexpr int kMostTries = 100;

std::string now_text() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    std::tm utc{};
    char text[40] = "";
    char fraction[16] = "";
    (void)::gmtime_r(&seconds, &utc);
    (void)std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)std::snprintf(fraction, sizeof fraction, ".%06dZ",
                        static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(now).count() % 1000000));
    return concat(text, fraction);
}

} // namespace

WhereaboutsReplay::WhereaboutsReplay(const kube::Access& access, std::string space, base::IpPrefix subnet,
                                     std::string podref, std::string container)
    : access_(access), space_(std::move(space)), subnet_(subnet), podref_(std::move(podref)),
      container_(std::move(container)),
      client_(std::make_unique<http::Client>(access.server, access.tls,
                                             http::Limits{.connect = kWholeAdd, .request = kWholeAdd})) {}

void WhereaboutsReplay::add() {
    end_ = Clock::now() + kWholeAdd;
    become_leader();
    end_ = std::min(end_, Clock::now() + kAsLeader);
    take_address();
    stop_leading();
}

WhereaboutsReplay::Answer WhereaboutsReplay::ask(std::string_view method, const std::string& path, std::string body,
                                                 const char* content_type) {
    http::Request request{.method = method,
                          .target = path,
                          .headers = {{"Authorization", access_.authorization}, {"Accept", "application/json"}},
                          .body = std::move(body)};
    if (!request.body.empty()) request.headers.emplace_back("Content-Type", content_type);
    http::Response response = client_->ask(request, base::Deadline::in(kWholeAdd));
    return {response.status, std::move(response.body)};
}

void WhereaboutsReplay::become_leader() {
    while (!try_to_lead()) {
        if (Clock::now() > end_) throw base::Error("whereabouts: time limit exceeded while waiting to become leader");
        const double factor = 1 + std::uniform_real_distribution<double>(0, kJitter)(random_);
        std::this_thread::sleep_for(kRetryPeriod * factor);
    }
    (void)write_lease(false); // its renewals begin at once
}

bool WhereaboutsReplay::try_to_lead() {
    const Answer answer = ask("GET", kLease);
    if (answer.status == 404) return write_lease(true);
    const json::Document lease = json::Document::parse(answer.body);
    const json::Reader spec = lease.root().at("spec");
    const auto text = [&](const char* key) { return spec.find(key) ? spec.at(key).string() : std::string(); };
    const bool has_changed = seen_.holder != text("holderIdentity") || seen_.renewed != text("renewTime");
    seen_ = {.holder = text("holderIdentity"),
             .renewed = text("renewTime"),
             .version = lease.root().at("metadata").at("resourceVersion").string()};
    if (has_changed) seen_at_ = Clock::now();
    if (!seen_.holder.empty() && seen_.holder != podref_ && seen_at_ + kLeaseTime > Clock::now()) return false;
    return write_lease(false);
}

bool WhereaboutsReplay::write_lease(bool creates) {
    json::Writer lease;
    lease.begin_object().member("apiVersion", "coordination.k8s.io/v1").member("kind", "Lease").key("metadata");
    lease.begin_object().member("name", "whereabouts").member("namespace", "kube-system");
    if (!creates) lease.member("resourceVersion", seen_.version);
    const std::string now = now_text();
    lease.end_object().key("spec").begin_object().member("holderIdentity", podref_).member("leaseDurationSeconds", 1);
    lease.member("acquireTime", now).member("renewTime", now).member("leaseTransitions", 1);
    lease.end_object().end_object();
    const Answer answer = ask(creates ? "POST" : "PUT", creates ? kLeases : kLease, lease.to_text());
    if (answer.status / 100 != 2) return false;
    seen_.version = json::Document::parse(answer.body).root().at("metadata").at("resourceVersion").string();
    renewed_at_ = Clock::now();
    return true;
}

/// In whereabouts a second thread renews.
void WhereaboutsReplay::renew_if_due() {
    if (Clock::now() > renewed_at_ + kRetryPeriod) (void)write_lease(false);
}

void WhereaboutsReplay::stop_leading() {
    const json::Document lease = json::Document::parse(ask("GET", kLease).body);
    json::Writer released;
    released.begin_object().member("apiVersion", "coordination.k8s.io/v1").member("kind", "Lease").key("metadata");
    released.begin_object().member("name", "whereabouts").member("namespace", "kube-system");
    released.member("resourceVersion", lease.root().at("metadata").at("resourceVersion").string());
    const std::string now = now_text();
    released.end_object().key("spec").begin_object().member("holderIdentity", "").member("leaseDurationSeconds", 1);
    released.member("acquireTime", now).member("renewTime", now).member("leaseTransitions", 1);
    released.end_object().end_object();
    (void)ask("PUT", kLease, released.to_text());
}

void WhereaboutsReplay::take_address() {
    const std::string pool_path = concat(kObjects, "/ippools/", cluster::pool_name({space_, subnet_}));
    (void)ask("GET", concat(kObjects, "/ippools"));
    for (int attempt = 0; attempt < kMostTries; ++attempt) {
        if (Clock::now() > end_) throw base::Error("whereabouts: context deadline exceeded");
        renew_if_due();
        const json::Document pool = json::Document::parse(ask("GET", pool_path).body);
        std::set<std::string> reserved;
        for (const auto& [key, record] : pool.root().at("spec").at("allocations").members()) reserved.insert(key);
        std::uint64_t offset = 1;
        while (reserved.contains(std::to_string(offset))) ++offset;
        const base::IpAddress address(subnet_.family(), subnet_.network().value() + offset);
        renew_if_due();
        const std::string name = cluster::reservation_name(space_, address);
        const Answer reservation = ask("GET", concat(kObjects, "/overlappingrangeipreservations/", name));
        if (reservation.status == 200) throw base::Error(concat("a reservation is left over: ", name));
        json::Writer patch;
        patch.begin_array().begin_object().member("op", "test").member("path", "/metadata/resourceVersion");
        patch.member("value", pool.root().at("metadata").at("resourceVersion").string()).end_object();
        const std::string path = concat("/spec/allocations/", offset);
        patch.begin_object().member("op", "test").member("path", path).key("value").raw("null").end_object();
        patch.begin_object().member("op", "add").member("path", path).key("value").begin_object();
        patch.member("id", container_).member("podref", podref_).member("ifname", "net1").end_object().end_object();
        renew_if_due();
        const Answer answer = ask("PATCH", pool_path, patch.end_array().to_text(), "application/json-patch+json");
        if (answer.status == 422) continue;
        if (answer.status != 200) throw base::Error(concat("whereabouts: PATCH: HTTP ", answer.status));
        renew_if_due();
        json::Writer object;
        object.begin_object().member("apiVersion", "whereabouts.cni.cncf.io/v1alpha1");
        object.member("kind", "OverlappingRangeIPReservation").key("metadata").begin_object().member("name", name);
        object.member("namespace", "kube-system").end_object().key("spec").begin_object();
        object.member("podref", podref_).member("ifname", "net1").end_object().end_object();
        const Answer made = ask("POST", concat(kObjects, "/overlappingrangeipreservations"), object.to_text());
        if (made.status != 201) throw base::Error(concat("whereabouts: POST: HTTP ", made.status));
        return;
    }
    throw base::Error("whereabouts: too many tries");
}

} // namespace rdmanet::test
