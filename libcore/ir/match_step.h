/* ir/match_step.h - the stack items of a parser state, and how each advances by a byte.  For ir and
 * mask.  Confined.
 *
 * Functions step_... return INFER_OK even if the byte is not accepted: then they add no stack.  Errors:
 * INFER_EUNSUP (the steps of a byte, the bytes of the states), INFER_ENOMEM. */
#ifndef IR_MATCH_STEP_H
#define IR_MATCH_STEP_H
#include "ir/ir.h"
#include "ir/match.h"
#include "ir/stack.h"
#include "automata/decode.h"

/* Kinds of stack items, and their data.  The item below a value says how to continue after it; it
 * is written when the value begins. */
enum item_kind {
	ITEM_DONE,      /* the end of the text */
	ITEM_VALUE,     /* goal, spaces: a value is due */
	ITEM_LITERAL,   /* enum alt_type, bytes read */
	ITEM_NUMBER,    /* goal, alternative, state; state of alt.plain, if there is one */
	ITEM_STRING,    /* goal, alternative, state, decoder (2 words); LEFT, NEED if counted */
	ITEM_SLOT_KEY,  /* a name of one of the slots: first, past the last, bytes read, decoder */
	ITEM_CLASS_KEY, /* a name of a class: class, state, decoder; side: the name, ITEM_CHAR */
	ITEM_COLON,     /* goal, spaces */
	ITEM_ARRAY,     /* SHAPE, WHERE, SPACES, COUNT, EXTRA */
	ITEM_OBJECT,    /* as ITEM_ARRAY, SEEN ...; side: the names of classes, ITEM_NAME */
	ITEM_CHAR,      /* a character of a name: code point, number of characters so far */
	ITEM_NAME,      /* class; side: the name */
	ITEM_RULE,      /* index in the code, decoder */
	ITEM_TEXT,      /* of grammar.text: state, decoder */
	ITEM_PART_TEXT, /* index in the code, state, decoder */
	ITEM_LEX,       /* a terminal: LEX_PC, LEX_STATE ... */
	ITEM_SKIP,      /* as ITEM_LEX, of plain[skip]; up: the whole stack before it */
	ITEM_HOLE,      /* bottom of stacks that are parsed separately; accepts no byte */
	ITEM_UNIQUE_ARRAY, /* as ITEM_ARRAY; side: the elements so far, ITEM_SEEN */
	ITEM_ELEMENT,      /* an element of such an array; side: its stack, which ends on a hole */
	ITEM_ELEMENT_TEXT, /* below ITEM_ELEMENT; side: the bytes of the element, ITEM_BYTES */
	ITEM_BYTES,        /* number of bytes, the last bytes; up: the bytes before */
	ITEM_LEX_SET,      /* terminals of a state, for masks: mask/inner.h */
	ITEM_SEEN          /* length, bytes of an element in canonical form; up: earlier elements */
};
/* data of arrays and objects: index of the shape, enum position, white space, elements or members;
 * counters of an array, open needs of an object; bits of the slots read */
enum { SHAPE, WHERE, SPACES, COUNT, EXTRA, SEEN };
enum { LEFT = 5, NEED }; /* data of a string: the most and fewest characters that follow */
enum {
	LEX_PC,
	LEX_STATE,
	LEX_MODE,
	LEX_ACC,
	LEX_BEGUN
};                                             /* MODE, ACC: decoder; BEGUN: 1: it has bytes */
enum position { AT_FIRST, AT_AFTER, AT_NEXT }; /* after the bracket, after a value, after a comma */
/* allowed white space: any, none, a newline was read; + characters of indentation */
enum { SPACE_ANY, SPACE_NONE, NEWLINE };

enum { MATCH_SPARES = 8 };
struct match {
	const struct grammar *g;
	enum match_spaces spaces;
	uint64_t steps;
	const uint64_t *tokens; /* match_set_tokens */
	uint32_t token_words;
	struct slab *slab, own; /* own: empty if the slab is borrowed */
	struct stacks stacks;
	uint32_t *scratch; /* data of the largest item */
	/* memory of dropped states, for reuse */
	struct match_state spare[MATCH_SPARES];
	uint32_t n_spare;
};

/* advancing all stacks of a state by one byte */
struct step {
	struct match *m;
	const struct grammar *g;
	uint64_t left;          /* steps left */
	struct match_state out; /* the new state */
	infer_error *err;
};

/* slab: memory of the stacks, borrowed; NULL: a slab of its own */
int match_new_in_slab(struct match **out, const struct grammar *g, enum match_spaces spaces,
                      const struct budget *most, struct slab *slab, infer_error *err);
/* Make *at hold n stacks. */
int match_reserve(struct match *m, struct match_state *at, uint32_t n, infer_error *err);
/* Count down n steps. */
int step_charge(struct step *s, uint64_t n);
/* Add a stack to the new state, unless it is there.  Takes the reference, on failure too. */
int step_add(struct step *s, struct stack_item *n);
/* Find or make an item; *out: a reference to it. */
int step_intern(struct step *s, struct stack_item **out, enum item_kind kind, struct stack_item *up,
                struct stack_item *side, const uint32_t *data, uint32_t n);
/* step_intern, then step_add. */
int step_push(struct step *s, enum item_kind kind, struct stack_item *up, struct stack_item *side,
              const uint32_t *data, uint32_t n);
/* step_push with the words of data as arguments */
#define STEP_PUSH(s, kind, up, side, ...) \
	step_push(s, kind, up, side, (const uint32_t[]){ __VA_ARGS__ }, \
	          sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

/* Decode a byte of a string. */
static inline enum decoded step_decode(const struct match *m, struct decoder *d, uint8_t b,
                                       uint32_t *cp)
{
	return m->spaces == MATCH_TIDY ? decode_tidy(d, b, cp) : decode_json(d, b, cp);
}
/* True if the byte is white space that is allowed here; *spaces: what is allowed after it. */
int step_space(const struct match *m, uint8_t b, uint32_t *spaces);
/* True if some, or all, of the characters lo ... hi are in the set. */
int charset_has(const struct charset *s, uint32_t lo, uint32_t hi);
int charset_covers(const struct charset *s, uint32_t lo, uint32_t hi);
/* True if the incomplete character in dec can lead from the state to one that spans n (dfa_spans). */
int step_can_continue(const struct dfa *d, uint32_t state, const struct decoder *dec,
                      struct span n);
/* Read a byte of UTF-8: set *dec, and *state if a character ends. Returns 0 if no text of d begins so. */
int step_utf8(const struct dfa *d, uint32_t *state, struct decoder *dec, uint8_t b);
/* True if the item is within a string or name. */
int item_is_in_string(const struct stack_item *n);
/* Return how many characters follow in an ITEM_STRING. */
static inline struct span item_span(const struct stack_item *n)
{
	return n->n > LEFT ? (struct span){ n->data[NEED], n->data[LEFT] } : SPAN_ANY;
}
/* Return n, or the item below it if n may have ended: a number, or rules that accept the empty text. */
const struct stack_item *item_after_end(const struct grammar *g, const struct stack_item *n);
/* Return the automaton of an ITEM_NUMBER or ITEM_STRING. */
const struct dfa *item_dfa(const struct grammar *g, const struct stack_item *n);
/* Advance one stack by a byte; one that ends a number is passed to the item below. */
int step_stack(struct step *s, struct stack_item *top, uint8_t b);
int step_object(struct step *s, struct stack_item *top, uint8_t b);
/* a name being read: one of the slots lo ... hi - 1, whose first depth bytes are equal */
struct slot_at {
	uint32_t lo, hi, depth;
	struct decoder dec;
};
/* Advance by a byte, whether or not the slots may come next.  After DECODE_QUOTE the name is that of
 * slot lo. */
enum decoded slot_step(const struct match *m, const struct object_shape *o, struct slot_at *at,
                       uint8_t b);
/* True if a member of this slot may come next. */
int step_slot_free(struct step *s, const struct stack_item *object, uint32_t slot);
/* Add the stacks after the quote that ends the name of a slot; or the name of a class, which is
 * assumed to differ from all earlier names. */
int step_end_slot_name(struct step *s, struct stack_item *top, uint32_t slot);
int step_end_class_name(struct step *s, struct stack_item *top);
int step_slot_key(struct step *s, struct stack_item *top, uint8_t b);
int step_class_key(struct step *s, struct stack_item *top, uint8_t b);
int step_colon(struct step *s, struct stack_item *top, uint8_t b);
int step_rule(struct step *s, struct stack_item *top, uint8_t b);
int step_text(struct step *s, struct stack_item *top, uint8_t b);
int step_part_text(struct step *s, struct stack_item *top, uint8_t b);
/* match_lex.c: advance a terminal, which does not end */
int step_lex(struct step *s, struct stack_item *top, uint8_t b);
/* Advance a state of a lexed grammar by a byte. */
int step_lexed_state(struct step *s, const struct match_state *at, uint8_t b);
/* Add the stacks after the terminals that may have ended here; s->out: fresh stacks. */
int step_end_lexemes(struct step *s, const struct match_state *at);
/* Add the stacks that skip texts before the terminals in s->out. */
int step_add_skips(struct step *s);
int lexed_may_end(const struct match *m, const struct match_state *at);
const struct dfa *lex_dfa(const struct grammar *g, const struct stack_item *n);
/* Continue with the item below a value that has ended. */
int step_end_value(struct step *s, struct stack_item *up);
/* Advance by the byte after a number, which ends only with that byte. */
int step_after_value(struct step *s, struct stack_item *up, uint8_t b);
/* Add the stack at the beginning of an OP_TEXT. */
int step_begin_text(struct step *s, const struct stack_item *x);
/* Begin an element of that goal in a unique array, followed by `after`; b >= 0: its first byte. */
int step_begin_element(struct step *s, struct stack_item *after, uint32_t goal, int b);
/* Advance such an element. */
int step_element(struct step *s, struct stack_item *top, uint8_t b);
/* True if a member of the slot (NOWHERE: of a class) with this value may come next. */
int step_can_take(struct step *s, const struct stack_item *object, uint32_t slot,
                  const struct options *value);
/* Add all stacks that are reached from code[pc] without reading a byte. */
int step_enter_rule(struct step *s, uint32_t pc, struct stack_item *up);
#endif
