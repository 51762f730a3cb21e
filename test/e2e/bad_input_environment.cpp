// Bad environment variables: command, container, interface name, network namespace, paths, arguments.
#include "bad_input.hpp"

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

#define INVALID_CONTAINER                                                                                              \
    "invalid characters in containerID: CNI_CONTAINERID must be letters, digits, '_', '.' and '-', beginning with a "  \
    "letter or digit, found "
#define NO_INTERFACE_NAME                                                                                              \
    "CNI_IFNAME is no interface name (1 to 15 bytes, no '/', ':', '%' or white space, not "                            \
    "\".\", \"..\", \"all\" or \"default\"): found "
#define NOT_A_NETNS(name) "CNI_NETNS: open network namespace \"/tmp/rdmanet-no-netns/" name "\": "

Table commands() {
    return {"commands that there are not",
            {
                {"lower case",
                 {command("add")},
                 4,
                 "unknown CNI_COMMAND: \"add\", expected ADD, DEL, CHECK, GC, STATUS or"},
                {"white space", {command("ADD ")}, 4, "unknown CNI_COMMAND: \"ADD \""},
                {"two", {command("ADD,DEL")}, 4, "unknown CNI_COMMAND: \"ADD,DEL\""},
                {"of the future", {command("UPDATE")}, 4, "unknown CNI_COMMAND: \"UPDATE\""},
                {"control characters", {command("\x1b[2J")}, 4, "unknown CNI_COMMAND: \"\\x1b[2J\""},
                {"not UTF-8", {command("\xff\xfe")}, 4, "unknown CNI_COMMAND: \"\\xff\\xfe\""},
                {"long", {command(std::string(100'000, 'A'))}, 4, "unknown CNI_COMMAND: \"AAAAAAAAAA"},
            }};
}

Table state_directories() {
    const char* const said = "RDMANET_STATE_DIR is \"state\", expected an absolute path";
    return {"RDMANET_STATE_DIR",
            {
                {"relative", {variable("RDMANET_STATE_DIR", "state")}, 4, said},
                {"relative, of STATUS", {command("STATUS"), variable("RDMANET_STATE_DIR", "state")}, 4, said},
            }};
}

Table containers() {
    return {
        "container IDs that can't be",
        {
            {"unset", {absent_variable("CNI_CONTAINERID")}, 4, "required env variables [CNI_CONTAINERID] missing"},
            {"empty", {container("")}, 4, "required env variables [CNI_CONTAINERID] missing"},
            {"slash", {container("a/b")}, 4, INVALID_CONTAINER "\"a/b\""},
            {"up", {container("..")}, 4, INVALID_CONTAINER "\"..\""},
            {"up and away", {container("../../etc/passwd")}, 4, INVALID_CONTAINER "\"../../etc/passwd\""},
            {"hidden", {container(".c1")}, 4, INVALID_CONTAINER "\".c1\""},
            {"option", {container("-c1")}, 4, INVALID_CONTAINER "\"-c1\""},
            {"space", {container("c 1")}, 4, INVALID_CONTAINER "\"c 1\""},
            {"line feed", {container("c1\n")}, 4, INVALID_CONTAINER "\"c1\\x0a\""},
            {"terminal escape", {container("c1\x1b[31m")}, 4, INVALID_CONTAINER "\"c1\\x1b[31m\""},
            {"colon, which separates names in the journal", {container("c1:net1")}, 4, INVALID_CONTAINER "\"c1:net1\""},
            {"not ASCII", {container("cé")}, 4, INVALID_CONTAINER "\"cé\""},
            {"not UTF-8", {container("c\xff")}, 4, INVALID_CONTAINER "\"c\\xff\""},
            {"long",
             {container(std::string(240, 'c'))},
             4,
             "CNI_CONTAINERID, CNI_IFNAME and the network's name are too long: 247 bytes together, at most 244 fit"},
            {"long, with the role in the file's name",
             {container(std::string(233, 'c')),
              document("{'cniVersion':'1.1.0','name':'net','type':'rdmanet','attach':'rdma'}")},
             4,
             "CNI_CONTAINERID, CNI_IFNAME and the network's name are too long: 240 bytes together, at most 239 fit"},
            {"DEL, bad", {command("DEL"), container("a/b")}, 4, INVALID_CONTAINER "\"a/b\""},
            {"DEL, unset", {command("DEL"), container("")}, 4, "required env variables [CNI_CONTAINERID] missing"},
            {"DEL, longer than was ever stored", {command("DEL"), container(std::string(300, 'c'))}, 0, ""},
            {"CHECK, bad", {command("CHECK"), container("a/b")}, 4, INVALID_CONTAINER "\"a/b\""},
            {"GC does not look at it", {command("GC"), container("a/b")}, 0, ""},
            {"STATUS does not look at it", {command("STATUS"), container("a/b")}, 0, ""},
        }};
}

Table interface_names() {
    return {"interface names that can't be",
            {
                {"unset", {absent_variable("CNI_IFNAME")}, 4, "required env variables [CNI_IFNAME] missing"},
                {"empty", {ifname("")}, 4, "required env variables [CNI_IFNAME] missing"},
                {"slash", {ifname("a/b")}, 4, NO_INTERFACE_NAME "\"a/b\""},
                {"dot", {ifname(".")}, 4, NO_INTERFACE_NAME "\".\""},
                {"up", {ifname("..")}, 4, NO_INTERFACE_NAME "\"..\""},
                {"path", {ifname("../net1")}, 4, NO_INTERFACE_NAME "\"../net1\""},
                {"16 characters", {ifname("abcdefghijklmnop")}, 4, NO_INTERFACE_NAME "\"abcdefghijklmnop\""},
                {"9 letters of 2 bytes", {ifname("éééééééé")}, 4, NO_INTERFACE_NAME "\"éééééééé\""},
                {"long", {ifname(std::string(1000, 'n'))}, 4, NO_INTERFACE_NAME "\"nnnnnnnn"},
                {"space", {ifname("net 1")}, 4, NO_INTERFACE_NAME "\"net 1\""},
                {"tab", {ifname("net\t1")}, 4, NO_INTERFACE_NAME "\"net\\x091\""},
                {"line feed", {ifname("net1\n")}, 4, NO_INTERFACE_NAME "\"net1\\x0a\""},
                {"colon", {ifname("net:1")}, 4, NO_INTERFACE_NAME "\"net:1\""},
                {"terminal escape", {ifname("\x1b[2J")}, 4, NO_INTERFACE_NAME "\"\\x1b[2J\""},
                {"not UTF-8", {ifname("net\xff")}, 4, NO_INTERFACE_NAME "\"net\\xff\""},
                {"no-break space", {ifname("net\xc2\xa0")}, 4, NO_INTERFACE_NAME},
                {"template, which the kernel would fill in", {ifname("net%d")}, 4, NO_INTERFACE_NAME "\"net%d\""},
                {"per cent", {ifname("net%")}, 4, NO_INTERFACE_NAME "\"net%\""},
                {"directory of sysctls", {ifname("all")}, 4, NO_INTERFACE_NAME "\"all\""},
                {"other directory of sysctls", {ifname("default")}, 4, NO_INTERFACE_NAME "\"default\""},
                {"taken by the loopback",
                 {ifname("lo")},
                 101,
                 "interface \"lo\" exists already in /run/netns/pod: remove it"},
                {"taken by another attachment",
                 {ifname("net0")},
                 101,
                 "interface \"net0\" exists already in /run/netns/pod"},
                {"attached already",
                 {container("neighbour"), ifname("net0")},
                 101,
                 "the attachment (network \"net\", container \"neighbour\", interface \"net0\") is in /run/netns/pod "
                 "already, made by an earlier ADD: DEL comes before another ADD"},
                {"DEL, bad", {command("DEL"), ifname("a/b")}, 4, NO_INTERFACE_NAME "\"a/b\""},
                {"DEL, somebody else's", {command("DEL"), ifname("net0")}, 0, ""},
                {"CHECK, bad", {command("CHECK"), ifname("net%d")}, 4, NO_INTERFACE_NAME "\"net%d\""},
                {"both missing",
                 {container(""), ifname("")},
                 4,
                 "required env variables [CNI_CONTAINERID,CNI_IFNAME] missing"},
                {"all missing",
                 {container(""), ifname(""), netns("")},
                 4,
                 "required env variables [CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME] missing"},
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
        "network namespaces that are none",
        {
            {"unset", {absent_variable("CNI_NETNS")}, 4, "required env variables [CNI_NETNS] missing"},
            {"empty", {netns("")}, 4, "required env variables [CNI_NETNS] missing"},
            {"absent",
             {netns("/run/netns/absent")},
             4,
             "CNI_NETNS: open network namespace \"/run/netns/absent\": no such file or directory"},
            {"file", {netns(place + "file")}, 4, NOT_A_NETNS("file") "it is a regular file"},
            {"empty file", {netns(place + "empty")}, 4, NOT_A_NETNS("empty") "it is an empty regular file"},
            {"fifo that nobody writes to", {netns(place + "fifo")}, 4, NOT_A_NETNS("fifo") "it is a pipe"},
            {"directory", {netns(place + "directory")}, 4, NOT_A_NETNS("directory") "it is a directory"},
            {"below a file", {netns(place + "file/x")}, 4, NOT_A_NETNS("file/x") "no such file or directory"},
            {"dangling symlink", {netns(place + "dangling")}, 4, NOT_A_NETNS("dangling") "no such file or directory"},
            {"symlink to itself", {netns(place + "loop")}, 4, NOT_A_NETNS("loop") "it is a loop of symbolic links"},
            {"symlink to our own",
             {netns(place + "own")},
             8,
             "CNI_NETNS \"/tmp/rdmanet-no-netns/own\" is the plugin's own network namespace: a pod's was expected"},
            {"our own", {netns("/proc/self/ns/net")}, 8, "CNI_NETNS \"/proc/self/ns/net\" is the plugin's own network"},
            {"our own by another thread",
             {netns("/proc/1/ns/net")},
             8,
             "CNI_NETNS \"/proc/1/ns/net\" is the plugin's own"},
            {"device", {netns("/dev/zero")}, 4, "CNI_NETNS: open network namespace \"/dev/zero\": it is a device"},
            {"mount namespace",
             {netns("/proc/self/ns/mnt")},
             4,
             "CNI_NETNS: open network namespace \"/proc/self/ns/mnt\": it is a mount namespace"},
            {"process that is gone",
             {netns("/proc/4194305/ns/net")},
             4,
             "CNI_NETNS: open network namespace \"/proc/4194305/ns/net\": no such file or directory"},
            {"name without a path", {netns("pod")}, 4, "CNI_NETNS: open network namespace \"pod\": no such file"},
            {"deep", {netns(deep)}, 4, "CNI_NETNS: open network namespace \"/tmp/d/d"},
            {"component longer than a file name",
             {netns("/run/netns/" + std::string(300, 'x'))},
             4,
             "CNI_NETNS: open network namespace \"/run/netns/xxxx"},
            {"control characters",
             {netns("/run/netns/\n\x1b[31m")},
             4,
             "CNI_NETNS: open network namespace \"/run/netns/\\x0a\\x1b[31m\": no such file or directory"},
            {"not UTF-8", {netns("/run/netns/\xff")}, 4, "CNI_NETNS: expected UTF-8, found \"/run/netns/\\xff\""},
            {"white space around",
             {netns(" /run/netns/pod")},
             4,
             "CNI_NETNS: open network namespace \" /run/netns/pod\""},
        }};
}

Table namespaces_of_del() {
    const std::string place = kNoNetns + '/';
    return {"DEL has nothing to do where no network namespace is",
            {
                {"unset", {command("DEL"), absent_variable("CNI_NETNS")}, 0, ""},
                {"empty", {command("DEL"), netns("")}, 0, ""},
                {"absent", {command("DEL"), netns("/run/netns/absent")}, 0, ""},
                {"file", {command("DEL"), netns(place + "file")}, 0, ""},
                {"fifo", {command("DEL"), netns(place + "fifo")}, 0, ""},
                {"directory", {command("DEL"), netns(place + "directory")}, 0, ""},
                {"dangling symlink", {command("DEL"), netns(place + "dangling")}, 0, ""},
                {"symlink to itself", {command("DEL"), netns(place + "loop")}, 0, ""},
                {"symlink to our own", {command("DEL"), netns(place + "own")}, 0, ""},
                {"our own, with the name of a host interface",
                 {command("DEL"), netns("/proc/self/ns/net"), ifname("par0")},
                 0,
                 ""},
                {"component longer than a file name",
                 {command("DEL"), netns("/run/netns/" + std::string(300, 'x'))},
                 0,
                 ""},
                {"longer than a path", {command("DEL"), netns("/run/" + std::string(5000, '/') + "x")}, 0, ""},
                {"mount namespace", {command("DEL"), netns("/proc/self/ns/mnt")}, 0, ""},
            }};
}

Table arguments() {
    return {
        "CNI_ARGS that can't be read",
        {
            {"no pair",
             {args("K8S_POD_NAME")},
             4,
             "CNI_ARGS: expected KEY=VALUE pairs separated by ';', found \"K8S_POD_"},
            {"two equals signs",
             {args("IP=a=b")},
             4,
             "CNI_ARGS: expected KEY=VALUE pairs separated by ';', found \"IP=a=b"},
            {"commas for semicolons",
             {args("K8S_POD_NAME=a,MAC=02:00:00:00:00:01")},
             4,
             "CNI_ARGS: expected KEY=VALUE"},
            {"control characters",
             {args("a\nb")},
             4,
             "CNI_ARGS: expected KEY=VALUE pairs separated by ';', found \"a\\x0ab"},
            {"pod name that is not UTF-8",
             {args("K8S_POD_NAME=a\xff")},
             4,
             "CNI_ARGS: expected UTF-8, found \"K8S_POD_NAME=a\\xff\""},
            {"unknown key", {args("FOO=1")}, 4, "CNI_ARGS: unknown keys \"FOO\": remove them, or add IgnoreUnknown=1"},
            {"unknown keys",
             {args("FOO=1;BAR=2")},
             4,
             "CNI_ARGS: unknown keys \"FOO\", \"BAR\": remove them, or add Ignore"},
            {"key without a name", {args("=1")}, 4, "CNI_ARGS: unknown keys \"\""},
            {"other case", {args("mac=02:00:00:00:00:01")}, 4, "CNI_ARGS: unknown keys \"mac\""},
            {"IgnoreUnknown=0", {args("IgnoreUnknown=0;FOO=1")}, 4, "CNI_ARGS: unknown keys \"FOO\""},
            {"IgnoreUnknown that is no flag",
             {args("IgnoreUnknown=yes;FOO=1")},
             4,
             "CNI_ARGS: IgnoreUnknown: expected 1, true, 0 or false, found \"yes\""},
            {"IgnoreUnknown without value",
             {args("IgnoreUnknown=")},
             4,
             "CNI_ARGS: IgnoreUnknown: expected 1, true, 0 or"},
            {"100000 keys",
             {args([] {
                 std::string many;
                 for (int at = 0; at < 15'000; ++at) many += "x=;";
                 return many;
             }())},
             4,
             "CNI_ARGS: unknown keys \"x\", \"x\""},
            {"MAC malformed",
             {args("MAC=02:00:00:00:00")},
             4,
             "CNI_ARGS MAC: expected a unicast MAC address like \"02:00:00:00:00:01\", found \"02:00:00:00:00\""},
            {"MAC of an InfiniBand device",
             {args("MAC=80:00:00:48:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:4f:8f:61")},
             4,
             "CNI_ARGS MAC: expected a unicast MAC address"},
            {"MAC multicast", {args("MAC=01:00:5e:00:00:01")}, 4, "CNI_ARGS MAC: expected a unicast MAC address"},
            {"MAC zero", {args("MAC=00:00:00:00:00:00")}, 4, "CNI_ARGS MAC: expected a unicast MAC address"},
            {"MAC broadcast", {args("MAC=ff:ff:ff:ff:ff:ff")}, 4, "CNI_ARGS MAC: expected a unicast MAC address"},
            {"MAC with IgnoreUnknown",
             {args("IgnoreUnknown=1;MAC=nonsense")},
             4,
             "CNI_ARGS MAC: expected a unicast MAC"},
            {"IP is no address",
             {args("IP=10.70.0")},
             4,
             "CNI_ARGS IP: expected an IP address, with or without prefix length, found \"10.70.0\""},
            {"IP a name", {args("IP=localhost")}, 4, "CNI_ARGS IP: expected an IP address"},
            {"IP with leading zeros", {args("IP=10.70.0.010")}, 4, "CNI_ARGS IP: expected an IP address"},
            {"IP with a zone", {args("IP=fe80::1%net1")}, 4, "CNI_ARGS IP: expected an IP address"},
            {"IP with a prefix that is too long", {args("IP=10.70.0.9/33")}, 4, "CNI_ARGS IP: expected an IP address"},
            {"second IP bad", {args("IP=10.70.0.9,x")}, 4, "CNI_ARGS IP: expected an IP address"},
            {"IP outside of the range",
             {args("IP=10.71.0.9")},
             7,
             "requested address 10.71.0.9 can not be given: it is outside of the ranges of this network "
             "(10.70.0.0/24)"},
            {"IP of the other family",
             {args("IP=fd70::9")},
             7,
             "requested address fd70::9 can not be given: it is outside"},
            {"IP of the gateway",
             {args("IP=10.70.0.1")},
             7,
             "requested address 10.70.0.1 can not be given: it is the gate"},
            {"IP of the network",
             {args("IP=10.70.0.0")},
             7,
             "requested address 10.70.0.0 can not be given: it is outside"},
            {"IP of the broadcast", {args("IP=10.70.0.255")}, 7, "requested address 10.70.0.255 can not be given"},
            {"two IPs of one range",
             {args("IP=10.70.0.8,10.70.0.9")},
             7,
             "requested address 10.70.0.9 can not be given: another requested address takes the place of range "
             "10.70.0.0/2"},
            {"IP of the neighbour",
             {args("IP=10.70.0.2")},
             105,
             "requested address 10.70.0.2 is taken by container \"neighbour\""},
            {"DEL is not kept by any", {command("DEL"), args("FOO;IP=x;MAC=y;IgnoreUnknown=maybe;=")}, 0, ""},
            {"GC is not kept by any", {command("GC"), args("FOO;IP=x;MAC=y;IgnoreUnknown=maybe;=")}, 0, ""},
            {"CHECK, unknown key", {command("CHECK"), args("FOO=1")}, 4, "CNI_ARGS: unknown keys \"FOO\""},
            {"STATUS, unknown key", {command("STATUS"), args("FOO=1")}, 4, "CNI_ARGS: unknown keys \"FOO\""},
        }};
}

Table search_paths() {
    const Change delegated = member("'ipam':{'type':'absent-ipam'}");
    const auto path = [](std::string value) { return variable("CNI_PATH", std::move(value)); };
    return {"CNI_PATH without the plugin that is delegated to",
            {
                {"unset",
                 {delegated, absent_variable("CNI_PATH")},
                 4,
                 "required env variables [CNI_PATH] missing: IPAM plugin \"absent-ipam\" is looked for there"},
                {"empty", {delegated, path("")}, 4, "required env variables [CNI_PATH] missing"},
                {"elsewhere",
                 {delegated, path("/absent:/etc:relative")},
                 106,
                 "IPAM plugin \"absent-ipam\" is in none of the directories of CNI_PATH (\"/absent:/etc:relative\"): "
                 "install"},
                {"nothing but separators",
                 {delegated, path(":::")},
                 106,
                 "IPAM plugin \"absent-ipam\" is in none of the direct"},
                {"a directory of that name",
                 {member("'ipam':{'type':'directory'}"), path(kNoNetns)},
                 106,
                 "IPAM plugin \"directory\" is in none of the directories of CNI_PATH"},
                {"a fifo of that name",
                 {member("'ipam':{'type':'fifo'}"), path(kNoNetns)},
                 106,
                 "IPAM plugin \"fifo\" is in none of the directories of CNI_PATH"},
                {"a file that is no program",
                 {member("'ipam':{'type':'file'}"), path(kNoNetns)},
                 106,
                 "IPAM plugin \"file\" ADD: execute /tmp/rdmanet-no-netns/file: permission denied: make it executable"},
                {"path as type",
                 {member("'ipam':{'type':'../bin/sh'}"), path("/usr")},
                 7,
                 "ipam.type: expected the name of a plugin without '/', found \"../bin/sh\""},
                {"up as type",
                 {member("'ipam':{'type':'..'}"), path("/usr")},
                 7,
                 "ipam.type: expected the name of a plugin"},
                {"control characters in the type",
                 {member("'ipam':{'type':'a\\nb'}")},
                 7,
                 "ipam.type: expected the name of a"},
                {"type longer than a file name",
                 {member(concat("'ipam':{'type':'", std::string(300, 'x'), "'}"))},
                 106,
                 "IPAM plugin \"xxx"},
                {"a program that is no plugin",
                 {member("'ipam':{'type':'true'}"), path("/usr/bin")},
                 106,
                 "IPAM plugin \"true\" ADD succeeded and printed no result"},
                {"a program that prints something else",
                 {member("'ipam':{'type':'pwd'}"), path("/usr/bin")},
                 106,
                 "IPAM plugin \"pwd\" ADD printed no JSON (parse error at line 1"},
                {"a program that prints our configuration",
                 {member("'ipam':{'type':'cat'}"), path("/usr/bin")},
                 106,
                 "IPAM plugin \"cat\" returned no address"},
                {"itself by another name",
                 {member("'ipam':{'type':'rdmanet-not'}"), path("/")},
                 106,
                 "IPAM plugin \"rdmanet-"},
            }};
}

} // namespace

std::vector<Table> environment_tables() {
    return {commands(),   state_directories(), containers(), interface_names(),
            namespaces(), namespaces_of_del(), arguments(),  search_paths()};
}

} // namespace rdmanet::test
