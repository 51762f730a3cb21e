// Standard input that is not JSON, not a configuration, or not of this protocol.
#include "bad_input.hpp"

#include "support/concat.hpp"

namespace rdmanet::test {
namespace {

const std::string kStart = R"({"cniVersion":"1.1.0","name":"net","type":"rdmanet","master":"par0")";

std::string repeated(const std::string& piece, std::size_t count) {
    std::string all;
    all.reserve(piece.size() * count);
    for (std::size_t at = 0; at < count; ++at) all += piece;
    return all;
}

Change with_member(const std::string& json) {
    return text(concat(kStart, ',', json, '}'));
}

constexpr std::size_t kLarge = std::size_t{1} << 18U;

Table texts() {
    return {
        "standard input that is not JSON",
        {
            {"nothing", {text("")}, 6, "standard input is empty", ""},
            {"white space", {text(" \n\t ")}, 6, "standard input is empty", ""},
            {"NUL bytes", {text(std::string(16, '\0'))}, 6, "line 1", ""},
            {"words", {text("hello")}, 6, "line 1", ""},
            {"YAML", {text("name: net\ntype: rdmanet\n")}, 6, "line 1", ""},
            {"single quotes", {text("{'name':'net'}")}, 6, "line 1", ""},
            {"comment", {text("// ours\n" + kStart + "}")}, 6, "line 1", ""},
            {"trailing comma", {text(kStart + ",}")}, 6, "line 1", ""},
            {"not closed", {text(kStart)}, 6, "line 1", ""},
            {"cut in a string", {text(kStart.substr(0, kStart.size() - 3))}, 6, "line 1", ""},
            {"cut in a key", {text(kStart + ",\"mt")}, 6, "line 1", ""},
            {"cut in a number", {with_member("\"mtu\":-")}, 6, "line 1", ""},
            {"cut in an escape", {text(kStart + ",\"a\":\"\\u00")}, 6, "line 1", ""},
            {"garbage behind", {text(kStart + "} x")}, 6, "line 1", ""},
            {"two documents", {text(kStart + "}" + kStart + "}")}, 6, "line 1", ""},
            {"one bracket too many", {text(kStart + "}}")}, 6, "line 1", ""},
            {"wrong bracket", {text(kStart + "]")}, 6, "line 1", ""},
            {"byte order mark of UTF-16", {text("\xff\xfe{\0}\0")}, 6, "line 1", ""},
            {"half a byte order mark", {text("\xef\xbb" + kStart + "}")}, 6, "line 1", ""},
            {"byte order mark alone", {text("\xef\xbb\xbf")}, 6, "line 1", ""},
            {"not UTF-8", {with_member("\"x\":\"\xff\"")}, 6, "line 1", ""},
            {"key that is not UTF-8", {with_member("\"\xc3\":1")}, 6, "line 1", ""},
            {"overlong UTF-8", {with_member("\"x\":\"\xc0\xaf\"")}, 6, "line 1", ""},
            {"surrogate in UTF-8", {with_member("\"x\":\"\xed\xa0\x80\"")}, 6, "line 1", ""},
            {"lone surrogate escape", {with_member(R"("x":"\ud800")")}, 6, "line 1", ""},
            {"line feed in a string", {with_member("\"x\":\"a\nb\"")}, 6, "line 2", ""},
            {"unknown escape", {with_member(R"("x":"\x41")")}, 6, "line 1", ""},
            {"NaN", {with_member("\"mtu\":NaN")}, 6, "line 1", ""},
            {"Infinity", {with_member("\"mtu\":Infinity")}, 6, "line 1", ""},
            {"hexadecimal", {with_member("\"mtu\":0x5dc")}, 6, "line 1", ""},
            {"leading zero", {with_member("\"mtu\":01500")}, 6, "line 1", ""},
            {"plus sign", {with_member("\"mtu\":+1500")}, 6, "line 1", ""},
            {"number beyond a double", {with_member("\"mtu\":1e400")}, 6, "1e400", ""},
            {"True", {with_member("\"rdma\":True")}, 6, "line 1", ""},
            {"65 levels of arrays",
             {with_member("\"x\":" + repeated("[", 65) + repeated("]", 65))},
             6,
             "64 levels",
             ""},
            {"a million levels of arrays", {text(repeated("[", 1'000'000))}, 6, "64 levels", ""},
            {"100000 levels of objects", {text(repeated("{\"a\":", 100'000))}, 6, "64 levels", ""},
            {"256 KiB of spaces", {text(std::string(kLarge, ' '))}, 6, "standard input is empty", ""},
            {"256 KiB in a string without an end",
             {text(kStart + ",\"x\":\"" + std::string(kLarge, 'x'))},
             6,
             "line 1",
             ""},
            {"more than 16 MiB", {with_member("\"x\":\"" + std::string(64 * kLarge, 'x') + "\"")}, 5, "16777216", ""},
            {"DEL", {command("DEL"), text("{")}, 6, "line 1", ""},
            {"GC", {command("GC"), text("")}, 6, "standard input is empty", ""},
            {"CHECK", {command("CHECK"), text("{\"a\"}")}, 6, "line 1", ""},
            {"STATUS", {command("STATUS"), text("NaN")}, 6, "line 1", ""},
        }};
}

Table documents() {
    return {"JSON that is not a configuration",
            {
                {"array", {text("[]")}, 7, "", "an array"},
                {"array around it", {text("[" + kStart + "}]")}, 7, "", "an array"},
                {"null", {text("null")}, 7, "", "null"},
                {"string", {text("\"rdmanet\"")}, 7, "", "\"rdmanet\""},
                {"number", {text("1")}, 7, "", "1"},
                {"true", {text("true")}, 7, "", "true"},
                {"string of 256 KiB", {text("\"" + std::string(kLarge, 'x') + "\"")}, 7, "", "\"xxxxxxxxxxx..."},
                {"empty object", {text("{}")}, 7, "name", ""},
                {"the list instead of its element",
                 {document("{'cniVersion':'1.1.0','name':'net','plugins':[{'type':'rdmanet'}],'mtu':'x'}")},
                 7,
                 "mtu",
                 "\"x\""},
                {"DEL, array", {command("DEL"), text("[]")}, 7, "", "an array"},
                {"GC, null", {command("GC"), text("null")}, 7, "", "null"},
                {"STATUS, string", {command("STATUS"), text("\"\"")}, 7, "", "\"\""},
            }};
}

Table versions() {
    const auto version = [](const std::string& json) { return member(concat("'cniVersion':", json)); };
    return {
        "unknown versions",
        {
            {"number", {version("1.1")}, 7, "cniVersion", "1.1"},
            {"array", {version("['1.1.0']")}, 7, "cniVersion", "an array"},
            {"boolean", {version("true")}, 7, "cniVersion", "true"},
            {"object", {version("{}")}, 7, "cniVersion", "an object"},
            {"short", {version("'1.0'")}, 1, "cniVersion", "\"1.0\""},
            {"with a v", {version("'v1.0.0'")}, 1, "cniVersion", "\"v1.0.0\""},
            {"white space", {version("'1.0.0 '")}, 1, "cniVersion", "\"1.0.0 \""},
            {"skipped", {version("'0.5.0'")}, 1, "cniVersion", "\"0.5.0\""},
            {"of the future", {version("'2.0.0'")}, 1, "cniVersion", "\"2.0.0\""},
            {"before a release", {version("'1.1.0-rc1'")}, 1, "cniVersion", "\"1.1.0-rc1\""},
            {"a word", {version("'latest'")}, 1, "cniVersion", "\"latest\""},
            {"control characters", {version("'\\u001b[2J'")}, 1, "cniVersion", "\"\\x1b[2J\""},
            {"256 KiB", {version(concat('\'', std::string(kLarge, '1'), '\''))}, 1, "cniVersion", "\"11111111111..."},
            {"DEL", {command("DEL"), version("'2.0.0'")}, 1, "cniVersion", "\"2.0.0\""},
            {"CHECK too early", {command("CHECK"), version("'0.3.1'")}, 1, "cniVersion", "0.3.1"},
            {"GC too early", {command("GC"), version("'1.0.0'")}, 1, "cniVersion", "1.0.0"},
            {"STATUS too early", {command("STATUS"), version("'1.0.0'")}, 1, "cniVersion", "1.0.0"},
            {"0.2.0 without addresses", {version("'0.2.0'"), member("'ipam':{}")}, 7, "cniVersion", "\"0.2.0\""},
            {"none, without addresses",
             {version("null"), member("'ipam':{}")},
             7,
             "cniVersion is missing",
             "\"0.1.0\""},
        }};
}

Table networks() {
    const auto name = [](const std::string& json) { return member(concat("'name':", json)); };
    return {
        "networks without a usable name",
        {
            {"null", {name("null")}, 7, "name", ""},
            {"empty", {name("''")}, 7, "name", ""},
            {"number", {name("7")}, 7, "name", "7"},
            {"array", {name("['net']")}, 7, "name", "an array"},
            {"slash", {name("'a/b'")}, 7, "name", "\"a/b\""},
            {"up", {name("'../net'")}, 7, "name", "\"../net\""},
            {"dots", {name("'..'")}, 7, "name", "\"..\""},
            {"colon, which separates names in the journal", {name("'a:b'")}, 7, "name", "\"a:b\""},
            {"space", {name("'my net'")}, 7, "name", "\"my net\""},
            {"option", {name("'-rf'")}, 7, "name", "\"-rf\""},
            {"not ASCII", {name("'réseau'")}, 7, "name", "\"réseau\""},
            {"NUL", {name("'net\\u0000'")}, 7, "name", "\"net\\x00\""},
            {"control characters", {name("'\\u001b[2J'")}, 7, "name", "\"\\x1b[2J\""},
            {"longer than a file name", {name(concat('\'', std::string(240, 'n'), '\''))}, 4, "CNI_CONTAINERID", "246"},
            {"256 KiB", {name(concat('\'', std::string(kLarge, 'n'), '\''))}, 4, "CNI_CONTAINERID", "262150"},
            {"DEL, missing", {command("DEL"), name("null")}, 7, "name", ""},
            {"DEL, bad", {command("DEL"), name("'a/b'")}, 7, "name", "\"a/b\""},
            {"DEL, longer than any stored name",
             {command("DEL"), name(concat('\'', std::string(300, 'n'), '\''))},
             0,
             "",
             ""},
            {"GC, missing", {command("GC"), name("null")}, 7, "name", ""},
            {"STATUS, bad", {command("STATUS"), name("'a/b'")}, 7, "name", "\"a/b\""},
        }};
}

Table duplicates() {
    return {
        "the last of duplicate keys counts, as in Go, and so does the exact spelling",
        {
            {"good, then bad", {with_member(R"("mtu":1400,"mtu":"x")")}, 7, "mtu", "\"x\""},
            {"name that vanishes", {with_member(R"("name":null)")}, 7, "name", ""},
            {"in an object below",
             {with_member(R"("rdma":{"waitForGids":true,"waitForGids":1})")},
             7,
             "rdma.waitForGids",
             "1"},
            {"other spelling alone", {with_member(R"("MTU":"x")")}, 7, "mtu", "\"x\""},
            {"ours beside another spelling", {with_member(R"("mtu":"x","MTU":1400)")}, 7, "mtu", "\"x\""},
            {"other spelling of IPAM", {with_member(R"("IPAM":{"TYPE":"rdmanet","RANGE":5})")}, 7, "ipam.range", "5"},
        }};
}

} // namespace

std::vector<Table> json_tables() {
    return {texts(), documents(), versions(), networks(), duplicates()};
}

} // namespace rdmanet::test
