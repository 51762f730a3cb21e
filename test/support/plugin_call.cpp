#include "support/plugin_call.hpp"
#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

#include <cstdlib>
#include <cstring>
#include <sstream>

namespace rdmanet::test {

std::string binary() {
    const char* chosen = std::getenv("RDMANET_BINARY");
    return chosen != nullptr ? chosen : RDMANET_BUILT_BINARY;
}

ProcessOptions PluginCall::options() const {
    ProcessOptions options;
    options.input = config;
    options.timeout = timeout;
    options.stack_limit = stack_limit;
    options.environment = {concat("CNI_COMMAND=", command), concat("CNI_CONTAINERID=", container),
                           concat("CNI_NETNS=", netns),     concat("CNI_IFNAME=", ifname),
                           concat("CNI_ARGS=", args),       concat("CNI_PATH=", path)};
    options.environment.insert(options.environment.end(), more_environment.begin(), more_environment.end());
    for (const char* name : {"RDMANET_STATE_DIR", "ASAN_OPTIONS", "UBSAN_OPTIONS"})
        if (const char* value = std::getenv(name)) options.environment.push_back(concat(name, '=', value));
    return options;
}

ProcessResult PluginCall::run() const {
    ProcessResult result = run_process({program}, options());
    if (command == "DEL") refuse_words_of_success(result);
    return result;
}

void refuse_words_of_success(const ProcessResult& del) {
    const std::string text = base::to_lower(del.out);
    for (const char* words : {"not found", "no such file"})
        if (text.find(words) != std::string::npos)
            throw base::Error(concat("DEL says \"", words, "\", which go-cni takes for success: ", del.out));
}

json::Document document_of(const ProcessResult& result) {
    if (result.out.empty()) throw base::Error(concat("nothing on standard output; standard error: ", result.err));
    return json::Document::parse(result.out);
}

std::string error_of(const ProcessResult& result) {
    if (result.exit_status == 0) throw base::Error(concat("expected an error, got success: ", result.out));
    const json::Document document = document_of(result);
    const json::Reader root = document.root();
    return concat("code ", root.at("code").integer(0, INT64_MAX), ": ", root.at("msg").string());
}

std::string complaints(const std::string& log) {
    std::string text;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);)
        for (const char* level : {" rdmanet warning ", " rdmanet error "})
            if (const auto at = line.find(level); at != std::string::npos)
                text += (text.empty() ? "" : "; ") + line.substr(at + std::strlen(" rdmanet "));
    return text;
}

} // namespace rdmanet::test
