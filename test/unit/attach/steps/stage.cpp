#include "stage.hpp"

#include "support/concat.hpp"

#include <unistd.h>

#include <filesystem>
#include <map>
#include <stdexcept>

namespace rdmanet::attach::test {
namespace {

using rdmanet::test::concat;

std::string make_directory() {
    char path[] = "/tmp/rdmanet-steps-XXXXXX";
    return ::mkdtemp(path);
}

cni::Request request_with(const std::string& members, const std::string& plugins, const kernel::Netns& pod) {
    const std::map<std::string, std::string> environment{{"CNI_COMMAND", "ADD"},
                                                         {"CNI_CONTAINERID", "c1"},
                                                         {"CNI_IFNAME", "net1"},
                                                         {"CNI_PATH", plugins},
                                                         {"CNI_NETNS", concat("/proc/", ::getpid(), "/fd/", pod.fd())}};
    const auto find = [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
    };
    return cni::parse_request(cni::Command::add, find,
                              concat(R"({"cniVersion": "1.0.0", "name": "net", "type": "rdmanet")",
                                     members.empty() ? "" : ", ", members, "}"));
}

std::string texts_of(const std::vector<state::Step>& steps) {
    std::string texts;
    for (const state::Step& step : steps) texts += step.json;
    return texts;
}

} // namespace

Stage::Stage(const std::string& members, const std::string& plugins)
    : inside_host_(host_.netns), directory_(make_directory()), node_(directory_, base::Logger(base::LogLevel::error)),
      request_(request_with(members, plugins, pod_.netns)), config_(config::parse_config(request_.conf)),
      attachment_(request_, node_), side_(open_pod_side(request_, kernel::test::soon())),
      deadline_(kernel::test::soon()), context_{request_, config_, attachment_, side_, host_.route, deadline_},
      record_(begin_record(request_, node_, identify(request_.netns_path, side_.netns))) {
    record_.attach = config_.kind();
}

Stage::~Stage() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
    std::filesystem::remove_all(directory_ + "-copies", ignored);
}

std::optional<kernel::Link> Stage::link() {
    return kernel::find_link(side_.route, request_.ifname());
}

void Stage::plan(const std::optional<Movable>& moving, const kernel::Link* parent) {
    const PlanContext to_plan{request_,  config_,     attachment_.records, node_.log,
                              deadline_, host_.route, &context_,           parent};
    const Findings found = find_out(to_plan, moving);
    steps_ = plan_steps(context_, found);
    record_.steps = recorded(steps_);
}

std::vector<std::string> Stage::described() const {
    Description description;
    for (const auto& step : steps_) step->describe(context_, description);
    return description.add;
}

void Stage::apply(const cni::Result& own) {
    Progress progress{.record = record_, .own = own};
    for (const auto& step : steps_) {
        progress.has_learned = false;
        const std::string before = texts_of(recorded(steps_));
        step->apply(context_, progress);
        if (before != texts_of(recorded(steps_)) && !progress.has_learned)
            throw std::logic_error("a step has changed what it records, and did not say so");
    }
    record_.steps = recorded(steps_);
    record_.wanted.emplace();
    Conclusion end{.interface = {.name = "net1", .sandbox = request_.netns_path}, .record = record_};
    for (const auto& step : steps_) step->conclude(context_, progress, end);
    own_ = progress.own;
    for (cni::IpConfig& ip : own_.ips) {
        ip.interface = 0;
        record_.ips.push_back(ip.address.to_string());
    }
    for (const cni::Route& route : own_.routes) record_.routes.push_back(route.destination.to_string());
    own_.interfaces = {end.interface};
}

std::string Stage::difference() const {
    Intended wanted{.config = &config_, .kind = std::string(config_.kind()), .rdma = config_.rdma, .result = own_};
    kernel::Socket inside = kernel::test::open_route(side_.netns);
    Expected expected{.interface = own_.interfaces.front()};
    for (const cni::IpConfig& ip : own_.ips) expected.ips.push_back(ip.address);
    CheckContext context{wanted, record_, side_.netns, request_.netns_path, deadline_, inside, expected};
    context.link = kernel::find_link(inside, request_.ifname());
    if (context.link) context.addresses = kernel::list_addresses(inside, context.link->ifindex);
    try {
        check_steps(context);
    } catch (const base::Error& error) {
        return error.what();
    }
    return {};
}

void Stage::revert() const {
    const Caller caller;
    const RevertContext context{.record = record_,
                                .caller = caller,
                                .records = attachment_.records,
                                .log = node_.log,
                                .deadline = deadline_,
                                .is_of_owner = true};
    for (std::size_t at = record_.steps.size(); at-- > 0;) attach::revert(record_.steps[at], context);
}

cni::Result addresses(const std::vector<std::string>& texts) {
    cni::Result result;
    for (const std::string& text : texts) result.ips.push_back({.address = base::IpPrefix::parse(text).value()});
    return result;
}

} // namespace rdmanet::attach::test
