// Bad environment variables: command, container, interface name, network namespace, paths, arguments.
#include "bad_input.hpp"

#include "support/concat.hpp"

namespace rdmanet::test {
namespace {

Change container(std::string value) {
    return variable("CNI_CONTAINERID", std::move(value));
}
Change ifname(std::string value) {
    return variable("CNI_IFNAME", std::move(value));
}
Change netns(std::string value) {
    return variable("CNI_NETNS", std::move(value));
}
Change args(std::string value) {
    return variable("CNI_ARGS", std::move(value));
}

Table commands() {
    return {"unknown commands",
            {
                {"lower case", {command("add")}, 4, "CNI_COMMAND", "\"add\""},
                {"white space", {command("ADD ")}, 4, "CNI_COMMAND", "\"ADD \""},
                {"two", {command("ADD,DEL")}, 4, "CNI_COMMAND", "\"ADD,DEL\""},
                {"of the future", {command("UPDATE")}, 4, "CNI_COMMAND", "\"UPDATE\""},
                {"control characters", {command("\x1b[2J")}, 4, "CNI_COMMAND", "\"\\x1b[2J\""},
                {"not UTF-8", {command("\xff\xfe")}, 4, "CNI_COMMAND", "\"\\xff\\xfe\""},
                {"long", {command(std::string(100'000, 'A'))}, 4, "CNI_COMMAND", "\"AAAAAAAAAAA..."},
            }};
}

Table state_directories() {
    return {"RDMANET_STATE_DIR",
            {
                {"relative", {variable("RDMANET_STATE_DIR", "state")}, 4, "RDMANET_STATE_DIR", "\"state\""},
                {"relative, of STATUS",
                 {command("STATUS"), variable("RDMANET_STATE_DIR", "state")},
                 4,
                 "RDMANET_STATE_DIR",
                 "\"state\""},
            }};
}

Table containers() {
    return {"invalid container IDs",
            {
                {"unset", {absent_variable("CNI_CONTAINERID")}, 4, "CNI_CONTAINERID", ""},
                {"empty", {container("")}, 4, "CNI_CONTAINERID", ""},
                {"slash", {container("a/b")}, 4, "CNI_CONTAINERID", "\"a/b\""},
                {"up", {container("..")}, 4, "CNI_CONTAINERID", "\"..\""},
                {"up and away", {container("../../etc/passwd")}, 4, "CNI_CONTAINERID", "\"../../etc/passwd\""},
                {"hidden", {container(".c1")}, 4, "CNI_CONTAINERID", "\".c1\""},
                {"option", {container("-c1")}, 4, "CNI_CONTAINERID", "\"-c1\""},
                {"space", {container("c 1")}, 4, "CNI_CONTAINERID", "\"c 1\""},
                {"line feed", {container("c1\n")}, 4, "CNI_CONTAINERID", "\"c1\\x0a\""},
                {"terminal escape", {container("c1\x1b[31m")}, 4, "CNI_CONTAINERID", "\"c1\\x1b[31m\""},
                {"colon, which separates names in the journal",
                 {container("c1:net1")},
                 4,
                 "CNI_CONTAINERID",
                 "\"c1:net1\""},
                {"not ASCII", {container("cé")}, 4, "CNI_CONTAINERID", "\"cé\""},
                {"not UTF-8", {container("c\xff")}, 4, "CNI_CONTAINERID", "\"c\\xff\""},
                {"long", {container(std::string(240, 'c'))}, 4, "CNI_CONTAINERID", "247"},
                {"long, with the role in the file's name",
                 {container(std::string(233, 'c')),
                  document("{'cniVersion':'1.1.0','name':'net','type':'rdmanet','attach':'rdma'}")},
                 4,
                 "CNI_CONTAINERID",
                 "240"},
                {"DEL, bad", {command("DEL"), container("a/b")}, 4, "CNI_CONTAINERID", "\"a/b\""},
                {"DEL, unset", {command("DEL"), container("")}, 4, "CNI_CONTAINERID", ""},
                {"DEL, longer than any stored name", {command("DEL"), container(std::string(300, 'c'))}, 0, "", ""},
                {"CHECK, bad", {command("CHECK"), container("a/b")}, 4, "CNI_CONTAINERID", "\"a/b\""},
                {"GC ignores it", {command("GC"), container("a/b")}, 0, "", ""},
                {"STATUS ignores it", {command("STATUS"), container("a/b")}, 0, "", ""},
            }};
}

Table interface_names() {
    return {"invalid interface names",
            {
                {"unset", {absent_variable("CNI_IFNAME")}, 4, "CNI_IFNAME", ""},
                {"empty", {ifname("")}, 4, "CNI_IFNAME", ""},
                {"slash", {ifname("a/b")}, 4, "CNI_IFNAME", "\"a/b\""},
                {"dot", {ifname(".")}, 4, "CNI_IFNAME", "\".\""},
                {"up", {ifname("..")}, 4, "CNI_IFNAME", "\"..\""},
                {"path", {ifname("../net1")}, 4, "CNI_IFNAME", "\"../net1\""},
                {"16 characters", {ifname("abcdefghijklmnop")}, 4, "CNI_IFNAME", "\"abcdefghijklmnop\""},
                {"9 letters of 2 bytes", {ifname("éééééééé")}, 4, "CNI_IFNAME", "\"éééééééé\""},
                {"long", {ifname(std::string(1000, 'n'))}, 4, "CNI_IFNAME", "\"nnnnnnnnnnn..."},
                {"space", {ifname("net 1")}, 4, "CNI_IFNAME", "\"net 1\""},
                {"tab", {ifname("net\t1")}, 4, "CNI_IFNAME", "\"net\\x091\""},
                {"line feed", {ifname("net1\n")}, 4, "CNI_IFNAME", "\"net1\\x0a\""},
                {"colon", {ifname("net:1")}, 4, "CNI_IFNAME", "\"net:1\""},
                {"terminal escape", {ifname("\x1b[2J")}, 4, "CNI_IFNAME", "\"\\x1b[2J\""},
                {"not UTF-8", {ifname("net\xff")}, 4, "CNI_IFNAME", "\"net\\xff\""},
                {"no-break space", {ifname("net\xc2\xa0")}, 4, "CNI_IFNAME", "\"net \""},
                {"template, which the kernel would fill in", {ifname("net%d")}, 4, "CNI_IFNAME", "\"net%d\""},
                {"per cent", {ifname("net%")}, 4, "CNI_IFNAME", "\"net%\""},
                {"directory of sysctls", {ifname("all")}, 4, "CNI_IFNAME", "\"all\""},
                {"other directory of sysctls", {ifname("default")}, 4, "CNI_IFNAME", "\"default\""},
                {"taken by the loopback", {ifname("lo")}, 101, "\"lo\"", ""},
                {"taken by another attachment", {ifname("net0")}, 101, "\"net0\"", ""},
                {"attached already", {container("neighbour"), ifname("net0")}, 101, "\"net\"", "\"neighbour\""},
                {"DEL, bad", {command("DEL"), ifname("a/b")}, 4, "CNI_IFNAME", "\"a/b\""},
                {"DEL, another attachment's", {command("DEL"), ifname("net0")}, 0, "", ""},
                {"CHECK, bad", {command("CHECK"), ifname("net%d")}, 4, "CNI_IFNAME", "\"net%d\""},
                {"both missing", {container(""), ifname("")}, 4, "CNI_CONTAINERID,CNI_IFNAME", ""},
                {"all missing", {container(""), ifname(""), netns("")}, 4, "CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME", ""},
            }};
}

Table namespaces() {
    const std::string place = kNoNetns + '/';
    const std::string deep = [] {
        std::string path = "/tmp";
        for (int level = 0; level < 2500; ++level) path += "/d";
        return path;
    }();
    return {
        "paths that are not network namespaces",
        {
            {"unset", {absent_variable("CNI_NETNS")}, 4, "CNI_NETNS", ""},
            {"empty", {netns("")}, 4, "CNI_NETNS", ""},
            {"absent", {netns("/run/netns/absent")}, 4, "CNI_NETNS", "\"/run/netns/absent\""},
            {"file", {netns(place + "file")}, 4, "CNI_NETNS", "\"/tmp/rdmanet-no-netns/file\""},
            {"empty file", {netns(place + "empty")}, 4, "CNI_NETNS", "\"/tmp/rdmanet-no-netns/empty\""},
            {"FIFO without a writer", {netns(place + "fifo")}, 4, "CNI_NETNS", "\"/tmp/rdmanet-no-netns/fifo\""},
            {"directory", {netns(place + "directory")}, 4, "CNI_NETNS", "\"/tmp/rdmanet-no-netns/directory\""},
            {"below a file", {netns(place + "file/x")}, 4, "CNI_NETNS", "\"/tmp/rdmanet-no-netns/file/x\""},
            {"dangling symlink", {netns(place + "dangling")}, 4, "CNI_NETNS", "\"/tmp/rdmanet-no-netns/dangling\""},
            {"symlink to itself", {netns(place + "loop")}, 4, "CNI_NETNS", "\"/tmp/rdmanet-no-netns/loop\""},
            {"symlink to our own", {netns(place + "own")}, 8, "CNI_NETNS", "\"/tmp/rdmanet-no-netns/own\""},
            {"our own", {netns("/proc/self/ns/net")}, 8, "CNI_NETNS", "\"/proc/self/ns/net\""},
            {"our own by another thread", {netns("/proc/1/ns/net")}, 8, "CNI_NETNS", "\"/proc/1/ns/net\""},
            {"device", {netns("/dev/zero")}, 4, "CNI_NETNS", "\"/dev/zero\""},
            {"mount namespace", {netns("/proc/self/ns/mnt")}, 4, "CNI_NETNS", "\"/proc/self/ns/mnt\""},
            {"process that is gone", {netns("/proc/4194305/ns/net")}, 4, "CNI_NETNS", "\"/proc/4194305/ns/net\""},
            {"name without a path", {netns("pod")}, 4, "CNI_NETNS", "\"pod\""},
            {"deep", {netns(deep)}, 4, "CNI_NETNS", "\"/tmp/d/d/d/..."},
            {"component longer than a file name",
             {netns("/run/netns/" + std::string(300, 'x'))},
             4,
             "CNI_NETNS",
             "\"/run/netns/..."},
            {"control characters", {netns("/run/netns/\n\x1b[31m")}, 4, "CNI_NETNS", "\"/run/netns/\\x0a\\x1b[31m\""},
            {"not UTF-8", {netns("/run/netns/\xff")}, 4, "CNI_NETNS", "\"/run/netns/\\xff\""},
            {"white space around", {netns(" /run/netns/pod")}, 4, "CNI_NETNS", "\" /run/netns/pod\""},
        }};
}

Table namespaces_of_del() {
    const std::string place = kNoNetns + '/';
    return {"DEL succeeds without a network namespace",
            {
                {"unset", {command("DEL"), absent_variable("CNI_NETNS")}, 0, "", ""},
                {"empty", {command("DEL"), netns("")}, 0, "", ""},
                {"absent", {command("DEL"), netns("/run/netns/absent")}, 0, "", ""},
                {"file", {command("DEL"), netns(place + "file")}, 0, "", ""},
                {"fifo", {command("DEL"), netns(place + "fifo")}, 0, "", ""},
                {"directory", {command("DEL"), netns(place + "directory")}, 0, "", ""},
                {"dangling symlink", {command("DEL"), netns(place + "dangling")}, 0, "", ""},
                {"symlink to itself", {command("DEL"), netns(place + "loop")}, 0, "", ""},
                {"symlink to our own", {command("DEL"), netns(place + "own")}, 0, "", ""},
                {"our own, with the name of a host interface",
                 {command("DEL"), netns("/proc/self/ns/net"), ifname("par0")},
                 0,
                 "",
                 ""},
                {"component longer than a file name",
                 {command("DEL"), netns("/run/netns/" + std::string(300, 'x'))},
                 0,
                 "",
                 ""},
                {"longer than a path", {command("DEL"), netns("/run/" + std::string(5000, '/') + "x")}, 0, "", ""},
                {"mount namespace", {command("DEL"), netns("/proc/self/ns/mnt")}, 0, "", ""},
            }};
}

Table arguments() {
    return {
        "unreadable CNI_ARGS",
        {
            {"no pair", {args("K8S_POD_NAME")}, 4, "CNI_ARGS", "\"K8S_POD_NAME\""},
            {"two equals signs", {args("IP=a=b")}, 4, "CNI_ARGS", "\"IP=a=b\""},
            {"commas instead of semicolons",
             {args("K8S_POD_NAME=a,MAC=02:00:00:00:00:01")},
             4,
             "CNI_ARGS",
             "\"K8S_POD_NAME=a,MAC=02:00:00:00:00:01\""},
            {"control characters", {args("a\nb")}, 4, "CNI_ARGS", "\"a\\x0ab\""},
            {"pod name that is not UTF-8", {args("K8S_POD_NAME=a\xff")}, 4, "CNI_ARGS", "\"K8S_POD_NAME=a\\xff\""},
            {"unknown key", {args("FOO=1")}, 4, "CNI_ARGS", "\"FOO\""},
            {"unknown keys", {args("FOO=1;BAR=2")}, 4, "CNI_ARGS", "\"FOO\""},
            {"key without a name", {args("=1")}, 4, "CNI_ARGS", "\"\""},
            {"other case", {args("mac=02:00:00:00:00:01")}, 4, "CNI_ARGS", "\"mac\""},
            {"IgnoreUnknown=0", {args("IgnoreUnknown=0;FOO=1")}, 4, "CNI_ARGS", "\"FOO\""},
            {"IgnoreUnknown that is not a flag", {args("IgnoreUnknown=yes;FOO=1")}, 4, "CNI_ARGS", "\"yes\""},
            {"IgnoreUnknown without value", {args("IgnoreUnknown=")}, 4, "CNI_ARGS", "\"\""},
            {"100000 keys",
             {args([] {
                 std::string many;
                 for (int at = 0; at < 15'000; ++at) many += "x=;";
                 return many;
             }())},
             4,
             "CNI_ARGS",
             "\"x\""},
            {"MAC malformed", {args("MAC=02:00:00:00:00")}, 4, "CNI_ARGS MAC", "\"02:00:00:00:00\""},
            {"MAC of an InfiniBand device",
             {args("MAC=80:00:00:48:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:4f:8f:61")},
             4,
             "CNI_ARGS MAC",
             "\"80:00:00:48:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:4f:8f:61\""},
            {"MAC multicast", {args("MAC=01:00:5e:00:00:01")}, 4, "CNI_ARGS MAC", "\"01:00:5e:00:00:01\""},
            {"MAC zero", {args("MAC=00:00:00:00:00:00")}, 4, "CNI_ARGS MAC", "\"00:00:00:00:00:00\""},
            {"MAC broadcast", {args("MAC=ff:ff:ff:ff:ff:ff")}, 4, "CNI_ARGS MAC", "\"ff:ff:ff:ff:ff:ff\""},
            {"MAC with IgnoreUnknown", {args("IgnoreUnknown=1;MAC=nonsense")}, 4, "CNI_ARGS MAC", "\"nonsense\""},
            {"IP is not an address", {args("IP=10.70.0")}, 4, "CNI_ARGS IP", "\"10.70.0\""},
            {"IP a name", {args("IP=localhost")}, 4, "CNI_ARGS IP", "\"localhost\""},
            {"IP with leading zeros", {args("IP=10.70.0.010")}, 4, "CNI_ARGS IP", "\"10.70.0.010\""},
            {"IP with a zone", {args("IP=fe80::1%net1")}, 4, "CNI_ARGS IP", "\"fe80::1%net1\""},
            {"IP with a prefix that is too long", {args("IP=10.70.0.9/33")}, 4, "CNI_ARGS IP", "\"10.70.0.9/33\""},
            {"second IP bad", {args("IP=10.70.0.9,x")}, 4, "CNI_ARGS IP", "\"x\""},
            {"IP outside of the range", {args("IP=10.71.0.9")}, 7, "10.71.0.9", "10.70.0.0/24"},
            {"IP of the other family", {args("IP=fd70::9")}, 7, "fd70::9", "10.70.0.0/24"},
            {"IP of the gateway", {args("IP=10.70.0.1")}, 7, "10.70.0.1", "10.70.0.0/24"},
            {"IP of the network", {args("IP=10.70.0.0")}, 7, "10.70.0.0", "10.70.0.0/24"},
            {"IP of the broadcast", {args("IP=10.70.0.255")}, 7, "10.70.0.255", "10.70.0.0/24"},
            {"two IPs of one range", {args("IP=10.70.0.8,10.70.0.9")}, 7, "10.70.0.9", "10.70.0.0/24"},
            {"IP of the neighbour", {args("IP=10.70.0.2")}, 105, "10.70.0.2", "\"neighbour\""},
            {"DEL works despite all of them",
             {command("DEL"), args("FOO;IP=x;MAC=y;IgnoreUnknown=maybe;=")},
             0,
             "",
             ""},
            {"GC works despite all of them", {command("GC"), args("FOO;IP=x;MAC=y;IgnoreUnknown=maybe;=")}, 0, "", ""},
            {"CHECK, unknown key", {command("CHECK"), args("FOO=1")}, 4, "CNI_ARGS", "\"FOO\""},
            {"STATUS, unknown key", {command("STATUS"), args("FOO=1")}, 4, "CNI_ARGS", "\"FOO\""},
        }};
}

Table search_paths() {
    const Change delegated = member("'ipam':{'type':'absent-ipam'}");
    const auto path = [](std::string value) { return variable("CNI_PATH", std::move(value)); };
    return {
        "CNI_PATH without the delegate",
        {
            {"unset", {delegated, absent_variable("CNI_PATH")}, 4, "CNI_PATH", "\"absent-ipam\""},
            {"empty", {delegated, path("")}, 4, "CNI_PATH", "\"absent-ipam\""},
            {"elsewhere",
             {delegated, path("/absent:/etc:relative")},
             106,
             "\"absent-ipam\"",
             "\"/absent:/etc:relative\""},
            {"nothing but separators", {delegated, path(":::")}, 106, "\"absent-ipam\"", "\":::\""},
            {"a directory with that name",
             {member("'ipam':{'type':'directory'}"), path(kNoNetns)},
             106,
             "\"directory\"",
             "\"/tmp/rdmanet-no-netns\""},
            {"a FIFO with that name",
             {member("'ipam':{'type':'fifo'}"), path(kNoNetns)},
             106,
             "\"fifo\"",
             "\"/tmp/rdmanet-no-netns\""},
            {"a file that is not a program", {member("'ipam':{'type':'file'}"), path(kNoNetns)}, 106, "\"file\"", ""},
            {"path as type", {member("'ipam':{'type':'../bin/sh'}"), path("/usr")}, 7, "ipam.type", "\"../bin/sh\""},
            {"up as type", {member("'ipam':{'type':'..'}"), path("/usr")}, 7, "ipam.type", "\"..\""},
            {"control characters in the type", {member("'ipam':{'type':'a\\nb'}")}, 7, "ipam.type", "\"a\\x0ab\""},
            {"type longer than a file name",
             {member(concat("'ipam':{'type':'", std::string(300, 'x'), "'}"))},
             106,
             "\"xxxxxxxxxxx...",
             "\"/usr/lib/cni\""},
            {"a program that is not a plugin",
             {member("'ipam':{'type':'true'}"), path("/usr/bin")},
             106,
             "\"true\"",
             ""},
            {"a program that prints something else",
             {member("'ipam':{'type':'pwd'}"), path("/usr/bin")},
             106,
             "\"pwd\"",
             ""},
            {"a program that prints our configuration",
             {member("'ipam':{'type':'cat'}"), path("/usr/bin")},
             106,
             "\"cat\"",
             ""},
            {"itself by another name",
             {member("'ipam':{'type':'rdmanet-not'}"), path("/")},
             106,
             "\"rdmanet-not\"",
             "\"/\""},
        }};
}

} // namespace

std::vector<Table> environment_tables() {
    return {commands(),   state_directories(), containers(), interface_names(),
            namespaces(), namespaces_of_del(), arguments(),  search_paths()};
}

} // namespace rdmanet::test
