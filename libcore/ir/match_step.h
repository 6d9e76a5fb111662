/* ir/match_step.h - the frames of stacks, and what takes a byte further.  Confined. */
#ifndef IR_MATCH_STEP_H
#define IR_MATCH_STEP_H
#include "ir/ir.h"
#include "ir/match.h"
#include "ir/stack.h"
#include "automata/decode.h"

/* A frame, and its data:
 *   N_VALUE      goal, spaces
 *   N_LITERAL    which, bytes read
 *   N_NUMBER     goal, alternative, state; that of the shortest spelling, where elements must differ
 *   N_STRING     goal, alternative, state, decoder
 *   N_SLOT_KEY   a name that is one of the slots first ... last - 1, bytes read, decoder
 *   N_OTHER_KEY  a name of a class: it, state, decoder; at its side the name so far
 *   N_COLON      goal, spaces
 *   N_ARRAY      shape, where, spaces, elements, counters
 *   N_OBJECT     shape, where, spaces, members, needs, seen slots; at its side the names of classes
 *   N_CHAR       of a name: character, length
 *   N_NAME       class; at its side the name
 *   N_RULE       where in the code, decoder
 *   N_TEXT       state, decoder
 *   N_PLAIN      where in the code, state, decoder
 *   N_HOLE       whatever is below: it takes no byte
 *   N_UNIQUE     as N_ARRAY; at its side the elements so far, which all differ
 *   N_ITEM       an element of such an array: its stack, which ends on a hole, is at the side
 *   N_WROTE      below N_ITEM: the array behind it; at its side the bytes of the element
 *   N_BYTES      how many in all; some of them, four in a word; before them others
 *   N_SEEN       how many bytes; an element as canon() writes it; before it others
 * What follows a value is in the frame below it: that is written when the value begins. */
enum frame {
	N_DONE,
	N_VALUE,
	N_LITERAL,
	N_NUMBER,
	N_STRING,
	N_SLOT_KEY,
	N_OTHER_KEY,
	N_COLON,
	N_ARRAY,
	N_OBJECT,
	N_CHAR,
	N_NAME,
	N_RULE,
	N_TEXT,
	N_PLAIN,
	N_HOLE,
	N_UNIQUE,
	N_ITEM,
	N_WROTE,
	N_BYTES,
	N_SEEN
};
enum { AT_FIRST, AT_AFTER, AT_NEXT };    /* behind the bracket, a value, a comma */
enum { SPACE_ANY, SPACE_NONE, NEWLINE }; /* then the indentation */
enum { SHAPE, WHERE, SPACES, COUNT, EXTRA, SEEN };

enum { MATCH_SPARES = 8 };
struct match {
	const struct grammar *g;
	enum match_spaces spaces;
	uint64_t steps;
	struct slab *slab, own; /* own: empty if the slab is borrowed */
	struct stacks stacks;
	uint32_t *scratch; /* the data of the largest frame */
	/* memory of places that were dropped, for others */
	struct match_at spare[MATCH_SPARES];
	uint32_t n_spare;
};

/* One byte for all stacks of a place. */
struct step {
	struct match *m;
	const struct grammar *g;
	uint64_t left;
	struct match_at out;
	infer_error *err;
};

/* slab: memory of its stacks, borrowed; NULL: a slab of its own */
int match_new_in(struct match **out, const struct grammar *g, enum match_spaces spaces,
                 const struct budget *most, struct slab *slab, infer_error *err);
/* room for n stacks */
int match_reserve(struct match *m, struct match_at *at, uint32_t n, infer_error *err);
int step_charge(struct step *s, uint64_t n);
/* Into the new place; takes the reference. */
int step_add(struct step *s, struct node *n);
/* A reference to that frame. */
int step_make(struct step *s, struct node **out, enum frame kind, struct node *up,
              struct node *side, const uint32_t *data, uint32_t n);
int step_put(struct step *s, enum frame kind, struct node *up, struct node *side,
             const uint32_t *data, uint32_t n);
/* the same, the data in place */
#define STEP_PUT(s, kind, up, side, ...) \
	step_put(s, kind, up, side, (const uint32_t[]){ __VA_ARGS__ }, \
	         sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

/* A byte of a string. */
static inline enum decoded step_decode(const struct match *m, struct decoder *d, uint8_t b,
                                       uint32_t *cp)
{
	return m->spaces == MATCH_TIDY ? decode_tidy(d, b, cp) : decode_json(d, b, cp);
}
/* Whether the byte is white space that may stand here; *spaces: what may follow. */
int step_space(const struct match *m, uint8_t b, uint32_t *spaces);
/* Whether some, or all, of the characters lo ... hi are in the set. */
int charset_has(const struct charset *s, uint32_t lo, uint32_t hi);
int charset_covers(const struct charset *s, uint32_t lo, uint32_t hi);
/* Whether what a decoder has begun can lead on from the state. */
int step_may_lead(const struct dfa *d, uint32_t state, const struct decoder *dec);
const struct dfa *step_text(const struct grammar *g, const struct node *n);
/* What the byte does to one stack; it may be pushed back to the frame below. */
int step_one(struct step *s, struct node *top, uint8_t b);
int step_object(struct step *s, struct node *top, uint8_t b);
/* Part of the name of a slot: one of lo ... hi - 1, whose first depth bytes are read. */
struct slot_at {
	uint32_t lo, hi, depth;
	struct decoder dec;
};
/* A byte more, whichever slots are free; behind DECODE_QUOTE the name is that of slot lo. */
enum decoded slot_step(const struct match *m, const struct object_shape *o, struct slot_at *at,
                       uint8_t b);
/* Whether this slot may come next. */
int step_slot_free(struct step *s, const struct node *object, uint32_t slot);
/* The places behind the quote that ends the name of a slot, or a name of a class: then it counts as
 * a name that differs from all others. */
int step_end_slot(struct step *s, struct node *top, uint32_t slot);
int step_end_other(struct step *s, struct node *top);
int step_slot_key(struct step *s, struct node *top, uint8_t b);
int step_other_key(struct step *s, struct node *top, uint8_t b);
int step_colon(struct step *s, struct node *top, uint8_t b);
int step_rule(struct step *s, struct node *top, uint8_t b);
int step_plain(struct step *s, struct node *top, uint8_t b);
int step_part(struct step *s, struct node *top, uint8_t b);
/* What follows a value that has ended, in the frame below it. */
int step_leave(struct step *s, struct node *up);
/* A byte behind a value that only now is known to have ended: a number. */
int step_behind(struct step *s, struct node *up, uint8_t b);
/* An entry for a text begins. */
int step_text_begins(struct step *s, const struct node *x);
/* Arrays whose elements differ, and an element of one. */
int step_unique(struct step *s, struct node *top, uint8_t b);
int step_element(struct step *s, struct node *top, uint8_t b);
/* Whether a member of the slot (NOWHERE: of a class) with this value may come next. */
int step_can_take(struct step *s, const struct node *object, uint32_t slot,
                  const struct options *value);
/* All places for a character that are reached from pc without one. */
int step_enter(struct step *s, uint32_t pc, struct node *up);
#endif
