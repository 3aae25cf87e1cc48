// One function a verb, chosen by its options. Each prints its result, and its failure if it has one, and returns the
// exit code.
#pragma once

#include "options.h"

namespace shmbloom::ctl {

int run(const Where &where, const CreateOptions &options);        // create.cpp
int run(const Where &where, const DropOptions &options);          // drop.cpp
int run(const Where &where, const LoadOptions &options);          // load.cpp
int run(const Where &where, const RebuildOptions &options);       // rebuild.cpp
int run(const Where &where, const RollbackOptions &options);      // rollback.cpp
int run(const Where &where, const StatusOptions &options);        // status.cpp
int run(const Where &where, const ContainsOptions &options);      // keys_verbs.cpp
int run(const Where &where, const AddOptions &options);           // keys_verbs.cpp
int run(const Where &where, const LiveOptions &options);          // live.cpp
int run(const Where &where, const PauseOptions &options);         // pause.cpp
int run(const Where &where, const ResumeOptions &options);        // resume.cpp
int run(const Where &where, const ForgetReadersOptions &options); // resume.cpp
int run(const Where &where, const WaitOptions &options);          // wait.cpp
int run(const Where &where, const VerifyOptions &options);        // verify.cpp
int run(const Where &where, const ExplainOptions &options);       // explain.cpp
int run(const Where &where, const SnapshotOptions &options);      // snapshot.cpp
int run(const Where &where, const UndropOptions &options);        // undrop.cpp
int run(const Where &where, const ExportOptions &options);        // export.cpp
int run(const Where &where, const ImportOptions &options);        // import.cpp
int run(const Where &where, const SelfTestOptions &options);      // self_test.cpp
int run(const Where &where, const PlanOptions &options);          // plan.cpp
int run(const Where &where, const HelpOptions &options);          // help.cpp
int run(const Where &where, const VersionOptions &options);       // help.cpp

} // namespace shmbloom::ctl
