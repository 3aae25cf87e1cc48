// explain agrees with contains, shows what a lookup reads, and never the seed.
#include <fstream>
#include <iterator>
#include <sstream>

#include "operator.h"

namespace shmbloom::test {
namespace {

class Explain : public Operator {
  protected:
    // Some keys in, as many out, small enough that words are shared.
    void agrees(const std::string &name, const std::vector<std::string> &options) {
        SCOPED_TRACE(name);
        instance.must_ctl(options);
        std::string in, all;
        for (int i = 0; i < 12; i++) {
            in += i < 6 ? std::to_string(1000 + i * 7) + "\n" : "";
            all += std::to_string(1000 + i * 7) + "\n";
        }
        instance.must_ctl({"add", name, "-"}, in);
        std::istringstream lines{operate({"contains", name, "-"}, all).output};
        for (std::string text; std::getline(lines, text);) {
            const std::string key = text.substr(0, text.find('\t')), answer = text.substr(text.find('\t') + 1);
            const auto explained = object({"explain", name, key}, answer == "maybe" ? 0 : 1);
            EXPECT_EQ(explained.at("answer"), answer) << explained;
            bool all_set = true;
            for (const auto &word : explained.at("words"))
                all_set = all_set && word.at("all_set").get<bool>();
            EXPECT_EQ(all_set, answer == "maybe") << explained;
        }
    }
};

TEST_F(Explain, AgreesWithContainsInBothLayoutsAndKeyTypes) {
    agrees("classic",
           {"create", "classic", "--capacity", "100", "--fpr", "1%", "--layout", "classic", "--nothing-exists-yet"});
    agrees("blocked",
           {"create", "blocked", "--capacity", "20k", "--fpr", "1%", "--layout", "blocked", "--nothing-exists-yet"});
    agrees("tight",
           {"create", "tight", "--capacity", "20k", "--fpr", "1e-5", "--layout", "blocked", "--nothing-exists-yet"});
    agrees("numbers",
           {"create", "numbers", "--capacity", "20k", "--fpr", "1%", "--key-type", "u64", "--nothing-exists-yet"});
}

TEST_F(Explain, ShowsTheKeyAsItIsHashed) {
    create("links", {"--nothing-exists-yet", "--normalize", "trim,lower"});
    const Finished explained = operate({"explain", "links", " AbC\t"});
    EXPECT_EQ(explained.code, 1);
    EXPECT_TRUE(says(explained.output, R"(key          " AbC\t", 5 bytes)")) << explained.output;
    EXPECT_TRUE(says(explained.output, R"(hashed as    "abc" (normalised by trim,lower))")) << explained.output;
    EXPECT_TRUE(says(explained.output, "add links ' AbC\t'")) << "what to type next: " << explained.output;
    create("numbers", {"--nothing-exists-yet", "--key-type", "u64"});
    EXPECT_TRUE(says(operate({"explain", "numbers", "007"}).output, "hashed as    7, a u64"));
    EXPECT_EQ(operate({"explain", "numbers", "x"}).code, 3);
    EXPECT_EQ(operate({"explain", "numbers", "--", "-1"}).code, 3);
    EXPECT_EQ(operate({"explain", "none", "x"}).code, 5);
}

TEST_F(Explain, NamesTheDoubtAndTheCommandThatEndsItAlsoWithoutTheDaemon) {
    create("links");
    instance.must_ctl({"pause", "links"});
    instance.kill();
    const Finished explained = operate({"explain", "links", "a"});
    EXPECT_EQ(explained.code, 2);
    EXPECT_TRUE(says(explained.output, "control gate generation 1, paused")) << explained.output;
    EXPECT_TRUE(says(explained.output, "segment gate generation 1, paused")) << explained.output;
    EXPECT_TRUE(says(explained.output, "resume links")) << explained.output;
}

TEST_F(Explain, NeverShowsTheSeed) {
    create("links");
    std::ifstream file{instance.state_dir() + "/seed"};
    std::string word, seed;
    ASSERT_TRUE(file >> word >> seed);
    ASSERT_EQ(seed.size(), 16u);
    for (const auto &arguments : {std::vector<std::string>{"explain", "links", "a"},
                                  {"explain", "links", "a", "--json"},
                                  {"status", "--json"},
                                  {"status"},
                                  {"self-test", "--json"}})
        EXPECT_FALSE(says(operate(arguments).output, seed)) << arguments[0];
}

} // namespace
} // namespace shmbloom::test
