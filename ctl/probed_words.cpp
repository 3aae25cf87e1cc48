// The one file of the tool that looks into a handle.
#include "probed_words.h"

#include <algorithm>

#include "handle.h"

namespace shmbloom::ctl {

namespace {

// Several probes may fall into one word.
void add_word(Probed &probed, const std::uint64_t *words, std::uint64_t index, std::uint64_t mask) {
    const auto found = std::find_if(probed.words.begin(), probed.words.end(),
                                    [index](const ProbedWord &word) { return word.index == index; });
    if (found != probed.words.end())
        found->mask |= mask;
    else
        probed.words.push_back({index, mask, shmbloom_load_field(&words[index])});
}

Probed probe(const std::uint64_t *words, const shmbloom_shape &shape, std::uint64_t hash) {
    Probed probed;
    probed.shape = shape;
    if (shape.layout == SHMBLOOM_LAYOUT_BLOCKED) {
        const shmbloom_block_probe p = shmbloom_probe_block(hash, shape.size, shape.probes);
        probed.block = p.block;
        for (std::size_t g = 0; g < 4; g++)
            add_word(probed, words, p.block * 8 + p.word[g], p.mask[g]);
        return probed;
    }
    std::uint64_t x = hash;
    for (std::uint32_t i = 0; i < shape.probes; i++, x = shmbloom_next_probe(x)) {
        const std::uint64_t bit = shmbloom_multiply_high(x, shape.size);
        probed.bits.push_back(bit);
        add_word(probed, words, bit / 64, std::uint64_t{1} << (bit % 64));
    }
    return probed;
}

} // namespace

Seen look_at_bits(const shmbloom_filter *f, std::uint64_t hash) {
    Seen seen;
    seen.control_gate = shmbloom_load_gate(f->control_gate);
    seen.segment_gate = shmbloom_load_gate(f->segment_gate);
    seen.has_segment = f->segment != nullptr;
    if (seen.has_segment)
        seen.probed = probe(f->words, f->shape, hash);
    return seen;
}

} // namespace shmbloom::ctl
