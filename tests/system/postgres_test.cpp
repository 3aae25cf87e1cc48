// Rebuild from a real PostgreSQL: rows that are deleted or commit late, and a source that dies in the middle. The
// server is the test's own, reached by its socket only.
#include <csignal>
#include <random>
#include <unistd.h>

#include "generations.h"

namespace shmbloom::test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

// Debian's, the newest that is installed.
std::string programs() {
    std::string newest;
    if (fs::exists("/usr/lib/postgresql"))
        for (const auto &version : fs::directory_iterator{"/usr/lib/postgresql"})
            if (fs::exists(version.path() / "bin/initdb"))
                newest = std::max(newest, (version.path() / "bin").string());
    if (newest.empty())
        throw std::runtime_error{"no PostgreSQL server: install the package postgresql-15"};
    return newest;
}

class PostgresServer {
  public:
    PostgresServer() {
        fs::create_directory(data());
        fs::permissions(data(), fs::perms::owner_all);
        if (::geteuid() == 0 &&
            (::chown(data().c_str(), kNobody, kNobody) != 0 || ::chown(folder_.path().c_str(), kNobody, kNobody) != 0))
            throw std::runtime_error{"the server's folder cannot be given away"};
        const Finished made = run(as_server({programs() + "/initdb", "-D", data(), "-A", "trust", "-U", "test", "-E",
                                             "UTF8", "--no-locale", "--no-sync"}));
        if (made.code != 0)
            throw std::runtime_error{"initdb: " + made.log + made.output};
        server_.emplace(as_server({programs() + "/postgres", "-D", data(), "-k", folder_.path(), "-c",
                                   "listen_addresses=", "-c", "fsync=off", "-c", "dynamic_shared_memory_type=mmap"}));
        if (!server_->wait_for_log("ready to accept connections"))
            throw std::runtime_error{"postgres: " + server_->log()};
        ::setenv("PGHOST", folder_.path().c_str(), 1); // also for the psql that shmbloomctl runs
        ::setenv("PGUSER", "test", 1);
        ::setenv("PGDATABASE", "postgres", 1);
    }
    ~PostgresServer() {
        server_->signal(SIGQUIT); // at once, but with the memory given back
        server_->wait();
    }

    // What psql prints; throws what it complains of.
    static std::string sql(const std::string &text) {
        const Finished finished = run({psql(), "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", text});
        if (finished.code != 0)
            throw std::runtime_error{text + ": " + finished.log};
        return finished.output;
    }
    static std::string psql() { return programs() + "/psql"; }

  private:
    std::string data() const { return folder_ / "data"; }
    // It refuses to run as root.
    static std::vector<std::string> as_server(std::vector<std::string> command) {
        if (::geteuid() == 0) {
            const std::string nobody = std::to_string(kNobody);
            command.insert(command.begin(),
                           {"/usr/bin/setpriv", "--reuid=" + nobody, "--regid=" + nobody, "--clear-groups"});
        }
        return command;
    }

    const TempFolder folder_;
    std::optional<Process> server_;
};

// A connection that stays.
class Session {
  public:
    Session() : psql_{{PostgresServer::psql(), "-qAtX", "-v", "ON_ERROR_STOP=1"}} {}

    // One row of one column back.
    std::string ask(const std::string &text) {
        psql_.write(text + ";\n");
        return psql_.read_line().value_or("nothing");
    }
    void tell(const std::string &text) { EXPECT_EQ(ask(text + "; select 'done'"), "done") << psql_.log(); }

  private:
    Process psql_;
};

class Postgres : public Generations {
  protected:
    static constexpr std::uint64_t kRows = 50'000;

    static void SetUpTestSuite() { server_ = std::make_unique<PostgresServer>(); }
    static void TearDownTestSuite() { server_.reset(); }
    void SetUp() override {
        PostgresServer::sql("drop table if exists links; create table links (id bigint primary key, code text)");
        insert_rows();
        instance.start();
        create({}, "100000");
        instance.must_ctl(tool("load")); // in no journal: what is deleted from now on is nowhere
        ASSERT_TRUE(eventually([&] { return worker->count("base62", 0, 1).maybe == 1; }));
        before_ = state();
    }
    // The line of the docs, with these options before --exec.
    static std::vector<std::string> tool(const std::string &verb, const std::vector<std::string> &options = {},
                                         const std::string &query = "copy (select code from links) to stdout") {
        std::vector<std::string> words{verb, "links"};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"--exec", "--", PostgresServer::psql(), "-qAtXc", query});
        return words;
    }
    // The same, running.
    std::unique_ptr<Process> begin_rebuild(const std::string &query) {
        std::vector<std::string> command{TestInstance::tool(), "--runtime-dir", instance.runtime_dir()};
        for (const std::string &word : tool("rebuild", {}, query))
            command.push_back(word);
        return std::make_unique<Process>(command);
    }
    // A dump that does something at one of its rows.
    static std::string dump_that(const std::string &what, std::uint64_t row) {
        return "copy (select case when id = " + std::to_string(row) + " then " + what +
               "::text || code else code end from links) to stdout";
    }
    // Somewhere behind the first rows that psql hands on.
    std::uint64_t random_row() {
        const unsigned seed = std::random_device{}();
        const std::uint64_t row = 5000 + std::mt19937_64{seed}() % (kRows - 5000);
        RecordProperty("row", std::to_string(row));
        return row;
    }
    static bool is_one(const std::string &condition) {
        return PostgresServer::sql("select count(*) from pg_stat_activity where query like 'copy%' and " + condition) ==
               "1\n";
    }
    static void add_row(Session &session, std::uint64_t index) {
        session.tell("insert into links values (" + std::to_string(index) + ", '" + base62_key(index) + "')");
    }
    void put(std::uint64_t index) { EXPECT_EQ(worker->tell("put " + base62_key(index)), "0"); }
    // The doubt about a rebuild that died is gone, too: the next one is as good as any.
    void expect_nothing_changed() {
        EXPECT_TRUE(eventually([&] { return info("building").empty(); }));
        EXPECT_EQ(state(), before_);
        expect_there(0, kRows);
        expect_gone(1'000'000'000, 10'000);
        expect_nothing_left_behind();
    }
    static void expect_failed(const Finished &finished, int code, const std::string &why) {
        EXPECT_EQ(finished.code, code) << finished.log << finished.output;
        for (const std::string &part : {why, std::string{"nothing changed"}})
            EXPECT_NE((finished.log + finished.output).find(part), std::string::npos)
                << finished.log << finished.output;
    }

  private:
    static void insert_rows() {
        std::string rows = "copy links from stdin;\n";
        for (std::uint64_t i = 0; i < kRows; i++)
            rows += std::to_string(i) + "\t" + base62_key(i) + "\n";
        const Finished finished = run({PostgresServer::psql(), "-qAtX", "-v", "ON_ERROR_STOP=1"}, rows + "\\.\n");
        ASSERT_EQ(finished.code, 0) << finished.log;
    }

    static inline std::unique_ptr<PostgresServer> server_;
    std::map<std::string, std::string> before_;
};

TEST_F(Postgres, DeletedRowsAreGoneAndAllOthersAreThere) {
    PostgresServer::sql("delete from links where id < 4000");
    const std::string said = instance.must_ctl(tool("rebuild"));
    EXPECT_NE(said.find("46000"), std::string::npos) << said;
    expect_gone(0, 4000);
    expect_there(4000, kRows - 4000);
    expect_gone(1'000'000'000, 50'000);
    expect_nothing_left_behind();
}

// Add first, then commit: between the two anything may happen.
TEST_F(Postgres, IdsThatCommitAfterTheDumpsSnapshotAreThere) {
    constexpr std::uint64_t kBefore = 100'000, kWhile = 100'001, kLater = 100'002, kDeletedBefore = 10, kAgain = 20;
    Session lock, early, late, later;
    PostgresServer::sql("delete from links where id in (10, 20)");
    lock.ask("select pg_advisory_lock(7)::text");
    put(kBefore);
    early.tell("begin");
    add_row(early, kBefore);
    put(kLater);
    later.tell("begin");
    add_row(later, kLater);

    const auto rebuild = begin_rebuild(dump_that("pg_advisory_lock(7)", random_row()));
    ASSERT_TRUE(eventually([&] { return is_one("wait_event = 'advisory'"); })) << rebuild->log();
    early.tell("commit");
    put(kWhile);
    EXPECT_EQ(worker->tell("put " + base62_key(kAgain)), "1"); // deleted, and made again
    late.tell("begin");
    add_row(late, kWhile);
    add_row(late, kAgain);
    late.tell("commit");
    lock.ask("select pg_advisory_unlock(7)::text");
    EXPECT_EQ(rebuild->wait().code, 0) << rebuild->log();
    EXPECT_NE(rebuild->rest_of_output().find("keys 49998, replayed 2"), std::string::npos); // the dump saw none of them
    for (const std::uint64_t index : {kBefore, kWhile, kLater, kAgain})
        expect_there(index, 1);
    later.tell("commit");
    expect_there(kLater, 1);
    expect_there(100, 10'000);
    EXPECT_EQ(FilterWire(instance, "links").maybes(kDeletedBefore, 1).size(), 0u);
}

TEST_F(Postgres, ABackendThatIsTerminatedAtARandomRowChangesNothing) {
    const auto rebuild = begin_rebuild(dump_that("pg_sleep(600)", random_row()));
    ASSERT_TRUE(eventually([&] { return is_one("wait_event = 'PgSleep'"); })) << rebuild->log();
    EXPECT_EQ(info("building"), "rebuild"); // in the middle
    PostgresServer::sql("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'");
    const int code = rebuild->wait().code;
    expect_failed({code, rebuild->rest_of_output(), rebuild->log()}, 8, "psql");
    expect_nothing_changed();
    instance.must_ctl(tool("rebuild"));
    expect_there(0, kRows);
}

TEST_F(Postgres, APsqlThatIsKilledAtARandomRowChangesNothing) {
    const auto rebuild = begin_rebuild(dump_that("pg_sleep(600)", random_row()));
    ASSERT_TRUE(eventually([&] { return is_one("wait_event = 'PgSleep'"); })) << rebuild->log();
    const std::string pid = std::to_string(rebuild->pid());
    int child = 0;
    std::ifstream{"/proc/" + pid + "/task/" + pid + "/children"} >> child;
    ASSERT_GT(child, 1);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    const int code = rebuild->wait().code;
    expect_failed({code, rebuild->rest_of_output(), rebuild->log()}, 8, "signal");
    expect_nothing_changed();
    PostgresServer::sql("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'");
}

TEST_F(Postgres, ACopyThatIsCutByItsTimeoutChangesNothing) {
    PostgresServer::sql("alter role test set statement_timeout = '300ms'");
    const Finished cut = instance.ctl(tool("rebuild", {}, dump_that("pg_sleep(600)", random_row())));
    PostgresServer::sql("alter role test reset statement_timeout");
    expect_failed(cut, 8, "statement timeout");
    expect_nothing_changed();
}

TEST_F(Postgres, AnEmptyTableChangesNothing) {
    PostgresServer::sql("delete from links");
    expect_failed(instance.ctl(tool("rebuild", {"--allow-shrink", "100"})), 6, "no");
    expect_nothing_changed();
}

TEST_F(Postgres, AShrunkenTableChangesNothingUnlessThatIsAllowed) {
    PostgresServer::sql("delete from links where id < 10000");
    expect_failed(instance.ctl(tool("rebuild")), 6, "--allow-shrink");
    expect_failed(instance.ctl(tool("rebuild", {"--allow-shrink", "30", "--expect-at-least", "45000"})), 6, "45000");
    expect_nothing_changed();
    instance.must_ctl(tool("rebuild", {"--allow-shrink", "30", "--expect-at-least", "40000"}));
    expect_gone(0, 10'000);
    expect_there(10'000, kRows - 10'000);
}

// The LSN is noted before the dump, as the docs say.
TEST_F(Postgres, ADumpInAFileTakesEveryAddSinceTheLsnThatWasNoted) {
    put(99'999); // else the LSN could have been noted before the load as well
    const std::string noted = next_lsn(), file = instance.folder() / "dump";
    PostgresServer::sql("delete from links where id < 1000");
    std::ofstream{file} << PostgresServer::sql("copy (select code from links) to stdout");
    for (std::uint64_t index = 100'000; index < 100'010; index++)
        put(index);
    EXPECT_EQ(instance.ctl({"rebuild", "links", file}).code, 6);
    expect_there(0, kRows);
    instance.must_ctl({"rebuild", "links", file, "--since", noted});
    expect_gone(0, 1000);
    expect_there(1000, kRows - 1000);
    expect_there(100'000, 10);
}

} // namespace
} // namespace shmbloom::test
