// Machines that run the built binary at the same moment, each with a machine id, a node name, a pod and a state
// directory of its own. All are on this machine, and no attachment has a link: the binary is called as an IPAM plugin.
#pragma once

#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/process.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace rdmanet::test {

inline std::string sorted(const std::string& lines) {
    std::vector<std::string> all;
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) all.push_back(line);
    std::sort(all.begin(), all.end());
    std::string text;
    for (const std::string& line : all) text += line + '\n';
    return text;
}

class Crowd {
public:
    /// `call`: of a network of this cluster.
    Crowd(int size, PluginCall call) : size_(size) {
        std::filesystem::remove_all(kDirectory);
        std::filesystem::create_directory(kDirectory);
        call.config = replaced(call.config, R"("type":"rdmanet","master")", R"("type":"macvlan","master")");
        std::ofstream(kDirectory + "/config") << call.config;
        // Machine $1 says that it is ready, and waits until all are.
        std::ofstream(kDirectory + "/machine.sh")
            << "cd " << kDirectory << "\nmount --make-rprivate /\nprintf '%032x\\n' $1 >$1.id\n"
            << "mount --bind $1.id /etc/machine-id\n"
            << "export RDMANET_STATE_DIR=$PWD/$1 CNI_COMMAND=$2 CNI_IFNAME=$3 CNI_CONTAINERID=c$1 CNI_NETNS="
            << call.netns
            << " CNI_PATH=/usr/lib/cni\nexport CNI_ARGS='IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_UID=uid;"
               "K8S_POD_NAME=till-'$1\n"
            << "sed \"s/.range./\\\"nodeName\\\":\\\"n$1\\\",&/\" config >$1.config\n"
            << "echo >ready\nflock --shared gate true\n"
            << "if [ $2 = GC ]; then unset CNI_COMMAND; set -- $1 GC all; " << binary() << " gc >$1.out 2>$1.err; else "
            << binary() << " <$1.config >$1.out 2>$1.err; fi\necho $? >$1.status\n";
        std::ofstream(kDirectory + "/all.sh")
            << "cd " << kDirectory << "\nrm -f *.status ready; mkfifo ready; exec 8<>ready 9>gate; flock 9\n"
            << "while read -r number command ifname; do\n"
            << "  unshare --mount sh machine.sh $number $command $ifname 8>&- 9>&- </dev/null & all=$((all + "
               "1))\ndone\n"
            << "while ((all--)); do read -r -u 8; done\nflock --unlock 9\nwait\n";
    }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;
    ~Crowd() { std::filesystem::remove_all(kDirectory); }

    /// What a machine is told to do: "ADD net1". Those with an empty one do nothing.
    void run(const std::function<std::string(int)>& wanted) {
        std::ofstream commands(kDirectory + "/commands");
        for (int machine = 1; machine <= size_; ++machine)
            if (const std::string command = wanted(machine); !command.empty())
                commands << machine << ' ' << command << '\n';
        commands.close();
        shell(concat("bash ", kDirectory, "/all.sh <", kDirectory, "/commands"));
        // What one gives back, another may have got in the same round.
        for (const bool is_add : {false, true})
            for (int machine = 1; machine <= size_; ++machine)
                if (const std::string command = wanted(machine);
                    !command.empty() && command.starts_with("ADD") == is_add)
                    note(machine, command);
    }
    void run_all(const std::string& command) {
        run([&](int) { return command; });
    }

    /// Addresses that machines have by results of ADD: "MACHINE net1" by address. One that is there twice is said.
    [[nodiscard]] std::string held() const {
        std::string text;
        for (const auto& [address, holder] : held_) text += concat(address, ' ', holder, '\n');
        return sorted(text);
    }
    [[nodiscard]] std::size_t count() const { return held_.size(); }
    [[nodiscard]] const std::string& duplicates() const { return duplicates_; }
    /// Errors of ADDs that failed, and of other commands.
    [[nodiscard]] const std::map<std::string, int>& refusals() const { return refusals_; }
    [[nodiscard]] const std::string& failures() const { return failures_; }
    /// As held(), by the machines' journals.
    [[nodiscard]] static std::string recorded() {
        return sorted(shell(concat("cd ", kDirectory,
                                   " && find . -path '*/attachments/*.json' -exec jq --raw-output "
                                   "'. as $r | .leases[] | .address + \" \" + ($r.containerID[1:]) + \" \" "
                                   "+ $r.ifname' {} +")));
    }
    /// As held(), by the machines' files of leases in blocks.
    [[nodiscard]] static std::string leased_in_blocks() {
        return sorted(shell(concat("cd ", kDirectory,
                                   " && cat */blocks | awk -F'\\t' '$1 == \"lease\" "
                                   "{ print $3 \"/\" $4, substr($7, 2), $8 }'")));
    }
    /// `rdmanet gc` on the machines that have a record: it pays what is owed.
    void collect() {
        const std::string all = records();
        run([&](int machine) { return all.find(concat("./", machine, '/')) == std::string::npos ? "" : "GC all"; });
    }
    /// The machines' own files that are left.
    [[nodiscard]] static std::string records() {
        return shell(concat("cd ", kDirectory, " && find . -path '*/attachments/*.json'"));
    }

private:
    static std::string read(const std::string& name) {
        std::ifstream file(concat(kDirectory, '/', name));
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void note(int machine, const std::string& command) {
        const std::string out = read(concat(machine, ".out"));
        const bool is_done = read(concat(machine, ".status")) == "0\n";
        const std::string holder = concat(machine, ' ', command.substr(command.find(' ') + 1));
        if (command.starts_with("ADD") && is_done) {
            std::istringstream all(addresses(out));
            for (std::string address; all >> address;) {
                const auto [at, is_new] = held_.emplace(address, holder);
                if (!is_new) duplicates_ += concat(address, ": ", at->second, ", ", holder, '\n');
            }
        } else if (command.starts_with("ADD")) {
            ++refusals_[value(out, "code")];
            if (value(out, "code") != "11") failures_ += out;
        } else if (!is_done && !command.starts_with("GC")) { // a server with too much to do is asked again

            failures_ += concat(command, ": ", out, read(concat(machine, ".err")));
        } else if (command.starts_with("DEL")) {
            std::erase_if(held_, [&](const auto& one) { return one.second == holder; });
        }
    }

    static inline const std::string kDirectory = "/run/crowd";
    int size_;
    std::map<std::string, std::string> held_;
    std::string duplicates_;
    std::map<std::string, int> refusals_;
    std::string failures_;
};

} // namespace rdmanet::test
