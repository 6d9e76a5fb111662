/* ir/match_step.h - the frames of stacks, and what takes a byte further.  Confined. */
#ifndef IR_MATCH_STEP_H
#define IR_MATCH_STEP_H
#include "ir/ir.h"
#include "ir/match.h"
#include "ir/stack.h"
#include "automata/decode.h"

/* A frame, and its data:
 *   ITEM_VALUE      goal, spaces
 *   ITEM_LITERAL    which, bytes read
 *   ITEM_NUMBER     goal, alternative, state; that of the shortest spelling, where elements must differ
 *   ITEM_STRING     goal, alternative, state, decoder
 *   ITEM_SLOT_KEY   a name that is one of the slots first ... last - 1, bytes read, decoder
 *   ITEM_CLASS_KEY  a name of a class: it, state, decoder; at its side the name so far
 *   ITEM_COLON      goal, spaces
 *   ITEM_ARRAY      shape, where, spaces, elements, counters
 *   ITEM_OBJECT     shape, where, spaces, members, needs, seen slots; at its side the names of classes
 *   ITEM_CHAR       of a name: character, length
 *   ITEM_NAME       class; at its side the name
 *   ITEM_RULE       where in the code, decoder
 *   ITEM_TEXT       state, decoder
 *   ITEM_PART_TEXT      where in the code, state, decoder
 *   ITEM_HOLE       whatever is below: it takes no byte
 *   ITEM_UNIQUE_ARRAY     as ITEM_ARRAY; at its side the elements so far, which all differ
 *   ITEM_ELEMENT       an element of such an array: its stack, which ends on a hole, is at the side
 *   ITEM_ELEMENT_TEXT      below ITEM_ELEMENT: the array behind it; at its side the bytes of the element
 *   ITEM_BYTES      how many in all; some of them, four in a word; before them others
 *   ITEM_SEEN       how many bytes; an element as canonical_json() writes it; before it others
 * What follows a value is in the frame below it: that is written when the value begins. */
enum item_kind {
	ITEM_DONE,
	ITEM_VALUE,
	ITEM_LITERAL,
	ITEM_NUMBER,
	ITEM_STRING,
	ITEM_SLOT_KEY,
	ITEM_CLASS_KEY,
	ITEM_COLON,
	ITEM_ARRAY,
	ITEM_OBJECT,
	ITEM_CHAR,
	ITEM_NAME,
	ITEM_RULE,
	ITEM_TEXT,
	ITEM_PART_TEXT,
	ITEM_HOLE,
	ITEM_UNIQUE_ARRAY,
	ITEM_ELEMENT,
	ITEM_ELEMENT_TEXT,
	ITEM_BYTES,
	ITEM_SEEN
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
	struct match_state spare[MATCH_SPARES];
	uint32_t n_spare;
};

/* One byte for all stacks of a place. */
struct step {
	struct match *m;
	const struct grammar *g;
	uint64_t left;
	struct match_state out;
	infer_error *err;
};

/* slab: memory of its stacks, borrowed; NULL: a slab of its own */
int match_new_in_slab(struct match **out, const struct grammar *g, enum match_spaces spaces,
                      const struct budget *most, struct slab *slab, infer_error *err);
/* room for n stacks */
int match_reserve(struct match *m, struct match_state *at, uint32_t n, infer_error *err);
int step_charge(struct step *s, uint64_t n);
/* Into the new place; takes the reference. */
int step_add(struct step *s, struct stack_item *n);
/* A reference to that frame. */
int step_intern(struct step *s, struct stack_item **out, enum item_kind kind, struct stack_item *up,
                struct stack_item *side, const uint32_t *data, uint32_t n);
int step_push(struct step *s, enum item_kind kind, struct stack_item *up, struct stack_item *side,
              const uint32_t *data, uint32_t n);
/* the same, the data in place */
#define STEP_PUSH(s, kind, up, side, ...) \
	step_push(s, kind, up, side, (const uint32_t[]){ __VA_ARGS__ }, \
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
int step_can_continue(const struct dfa *d, uint32_t state, const struct decoder *dec);
const struct dfa *item_dfa(const struct grammar *g, const struct stack_item *n);
/* What the byte does to one stack; it may be pushed back to the frame below. */
int step_stack(struct step *s, struct stack_item *top, uint8_t b);
int step_object(struct step *s, struct stack_item *top, uint8_t b);
/* Part of the name of a slot: one of lo ... hi - 1, whose first depth bytes are read. */
struct slot_at {
	uint32_t lo, hi, depth;
	struct decoder dec;
};
/* A byte more, whichever slots are free; behind DECODE_QUOTE the name is that of slot lo. */
enum decoded slot_step(const struct match *m, const struct object_shape *o, struct slot_at *at,
                       uint8_t b);
/* Whether this slot may come next. */
int step_slot_free(struct step *s, const struct stack_item *object, uint32_t slot);
/* The places behind the quote that ends the name of a slot, or a name of a class: then it counts as
 * a name that differs from all others. */
int step_end_slot(struct step *s, struct stack_item *top, uint32_t slot);
int step_end_other(struct step *s, struct stack_item *top);
int step_slot_key(struct step *s, struct stack_item *top, uint8_t b);
int step_other_key(struct step *s, struct stack_item *top, uint8_t b);
int step_colon(struct step *s, struct stack_item *top, uint8_t b);
int step_rule(struct step *s, struct stack_item *top, uint8_t b);
int step_text(struct step *s, struct stack_item *top, uint8_t b);
int step_part_text(struct step *s, struct stack_item *top, uint8_t b);
/* What follows a value that has ended, in the frame below it. */
int step_end_value(struct step *s, struct stack_item *up);
/* A byte behind a value that only now is known to have ended: a number. */
int step_after_value(struct step *s, struct stack_item *up, uint8_t b);
/* An entry for a text begins. */
int step_begin_text(struct step *s, const struct stack_item *x);
/* Arrays whose elements differ, and an element of one. */
int step_unique_array(struct step *s, struct stack_item *top, uint8_t b);
int step_element(struct step *s, struct stack_item *top, uint8_t b);
/* Whether a member of the slot (NOWHERE: of a class) with this value may come next. */
int step_can_take(struct step *s, const struct stack_item *object, uint32_t slot,
                  const struct options *value);
/* All places for a character that are reached from pc without one. */
int step_enter_rule(struct step *s, uint32_t pc, struct stack_item *up);
#endif
