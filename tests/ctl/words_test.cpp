// Every word that a refusal or doubt is known by is a heading in docs/protocol.md; every verb has its help.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "help.h"
#include "hints.h"
#include "options.h"
#include "words.h"

using namespace shmbloom::ctl;

namespace {

std::string read(const std::filesystem::path &path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

std::set<std::string> matches(const std::string &text, const char *pattern) {
    const std::regex expression{pattern};
    std::set<std::string> found;
    for (std::sregex_iterator at{text.begin(), text.end(), expression}, end; at != end; ++at)
        found.insert((*at)[1]);
    return found;
}

const std::set<std::string> &headings() {
    static const std::set<std::string> found =
        matches(read(std::string{SHMBLOOM_SOURCE_DIR} + "/docs/protocol.md"), R"((?:^|\n)#+ ([^\n]+))");
    return found;
}

// As a shell would, for words with blanks in single quotes.
std::vector<std::string> split(const std::string &line) {
    std::vector<std::string> words;
    std::string word;
    bool quoted = false;
    for (const char c : line + " ")
        if (c == '\'')
            quoted = !quoted;
        else if (c == ' ' && !quoted)
            words.push_back(std::exchange(word, ""));
        else
            word += c;
    return words;
}

} // namespace

TEST(Words, OfTheToolAreHeadings) {
    for (const char *word : word::kOwn)
        EXPECT_TRUE(headings().contains(word)) << word;
    for (int code = 1; code <= static_cast<int>(Exit::no_space); ++code)
        EXPECT_TRUE(headings().contains(word::of(static_cast<Exit>(code)))) << word::of(static_cast<Exit>(code));
}

TEST(Words, OfDoubtsAndWarningsAreHeadings) {
    for (const std::string_view word : hint_words())
        EXPECT_TRUE(headings().contains(std::string{word})) << word;
    for (const char *word : {"no_control", "no_filter", "no_permission", "format", "busy", "no_segment"})
        EXPECT_TRUE(headings().contains(word)) << word;
}

TEST(Words, OfTheDaemonsErrorsAreHeadings) {
    std::set<std::string> words;
    for (const auto &entry :
         std::filesystem::recursive_directory_iterator{std::string{SHMBLOOM_SOURCE_DIR} + "/daemon"})
        if (entry.path().extension() == ".cpp" || entry.path().extension() == ".h")
            words.merge(matches(read(entry.path()), R"re((?:Failure\{|return \{|error\()"([A-Z]+)",)re"));
    EXPECT_GE(words.size(), 9u) << "the pattern still finds them";
    for (const std::string &word : words)
        EXPECT_TRUE(headings().contains(word)) << word;
}

TEST(Words, OfTheWireAreHeadings) {
    const std::string dispatcher = read(std::string{SHMBLOOM_SOURCE_DIR} + "/daemon/service/dispatcher.cpp");
    const std::set<std::string> commands = matches(dispatcher, R"re(\n\s*\{"([A-Z.]+)", \d)re");
    EXPECT_GE(commands.size(), 19u) << "the pattern still finds them";
    std::string all;
    for (const std::string &heading : headings())
        all += heading + "\n";
    for (const std::string &command : commands)
        EXPECT_NE(all.find(command), std::string::npos) << command;
}

TEST(Help, EveryVerbHasAnExampleThatParses) {
    EXPECT_EQ(all_verbs().size(), 22u);
    for (const VerbHelp &verb : all_verbs()) {
        SCOPED_TRACE(verb.name);
        EXPECT_FALSE(verb.what.empty());
        EXPECT_TRUE(verb.synopsis.starts_with(verb.name));
        const std::string example{verb.example};
        const std::size_t tool = example.find("shmbloomctl ");
        ASSERT_NE(tool, std::string::npos) << example;
        const auto words = split(example.substr(tool + 12));
        const auto command = parse_command(words);
        if (const Failure *failure = failure_of(command))
            ADD_FAILURE() << failure->text;
        EXPECT_EQ(words.front(), verb.name);
        EXPECT_NE(help_text(verb.name).find(example), std::string::npos);
        EXPECT_NE(help_text("").find("  " + std::string{verb.name} + " "), std::string::npos);
    }
}

TEST(Help, FitsAHundredColumns) {
    std::string all = help_text("");
    for (const VerbHelp &verb : all_verbs())
        all += help_text(verb.name);
    std::size_t column = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        column = all[i] == '\n' ? 0 : column + 1;
        EXPECT_LE(column, 100u) << all.substr(i - std::min<std::size_t>(i, 60), 60); // a command is not broken
    }
}
