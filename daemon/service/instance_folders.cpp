// Folders of the disk that somebody removes or moves while the daemon has them open: it would go on writing where no
// start looks.
#include "service/instance.h"
#include "sys/log.h"

namespace shmbloom {

// Nothing is made in its place: whoever moved it has all that was acknowledged, and it goes on there.
void Instance::notice_state_folder() {
    const StateFolder::Place place = state_.place();
    if (place == std::exchange(state_place_, place))
        return;
    const std::string quoted = "the state folder '" + state_.path() + "' ";
    switch (place) {
    case StateFolder::Place::here:
        log::info(quoted + "is in its place again");
        break;
    case StateFolder::Place::elsewhere:
        log::error(quoted +
                   "was moved away: adds go on into it where it is now, but the next start would not find it and "
                   "begin with no filters; move it back");
        break;
    case StateFolder::Place::removed:
        log::critical(quoted +
                      "was removed: adds to filters with a journal are refused and no change of a filter is kept; "
                      "lookups go on. Export what is needed, then stop this daemon and begin anew");
        break;
    }
}

bool Instance::journal_folder_stands() {
    const bool was_lost = journal_->is_folder_lost();
    if (!was_lost && state_.leads_to("journal", journal_folder_.get())) {
        if (!std::exchange(folder_error_, "").empty())
            log::info("the journal has a folder again");
        return true;
    }
    // None of its files is there for a start to miss.
    registry_.journal.files.clear();
    journal_->replace_folder("its folder '" + state_.path() + "/journal' was removed or moved away",
                             [this] { return state_.open_subfolder("journal"); });
    if (was_lost && journal_->failing() && folder_error_ != journal_->failing()->text) {
        folder_error_ = journal_->failing()->text;
        log::error("the journal has no folder, adds to filters with a journal are refused; tried again each second: " +
                   folder_error_);
    }
    return false;
}

} // namespace shmbloom
