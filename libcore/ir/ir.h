/* ir/ir.h - a compiled constraint, for the rooms that make and read one.
 *
 * A goal is what one JSON value must satisfy: any of its alternatives, each for one type.  What an
 * element or a member must satisfy besides the goal of its value is counted: an option is a goal,
 * and the counters that go up when a value is read under it.  Immutable once compiled. */
#ifndef IR_IR_H
#define IR_IR_H
#include "base/arena.h"
#include "automata/dfa.h"

enum alt_type { ALT_NULL, ALT_FALSE, ALT_TRUE, ALT_NUMBER, ALT_STRING, ALT_ARRAY, ALT_OBJECT };

struct option {
	uint32_t goal;
	uint32_t adds; /* a bit for each counter or need */
};

struct options {
	uint32_t n;
	struct option *at;
};

struct counter {
	uint32_t min, max; /* max DFA_FOREVER: none, and counting ends at min */
	uint32_t stride;
};

struct array_shape {
	uint32_t min, max;    /* elements; max DFA_FOREVER: none */
	uint32_t n_prefix;    /* elements with options of their own */
	struct options *item; /* [n_prefix + 1], the last one for all others */
	uint32_t n_counters, width;
	struct counter *counter;
	/* from where on all positions are alike, and counting ends; where there is a max, it */
	uint32_t steady;
	uint8_t *can;  /* [steady + 1][width]; NULL: width is 1, then what counts is: */
	uint32_t most; /* how many elements there can be */
	int unique;    /* no two of them are equal */
};

/* a property with a name of its own */
struct slot {
	const char *name;
	uint32_t n, rank; /* where its object is ordered: they come by it */
	int required;
	struct options value;
};

/* names that are treated alike, infinitely many or very many */
struct key_class {
	const struct dfa *names;
	const uint64_t *count; /* [n_states] words from there; NULL: infinitely many from all */
	struct options value;
};

struct object_shape {
	uint32_t n_slots, n_classes, min, max;
	uint32_t needs;    /* a bit for each value that must exist */
	uint32_t required; /* how many slots */
	int easy;          /* neither needs nor bounds: what is begun can be ended */
	int ordered; /* what comes later is left out with what precedes it; classes are last */
	struct slot *slot; /* by name */
	struct key_class *class;
};

struct alt {
	uint8_t type, live; /* enum alt_type; something satisfies it */
	uint32_t shape;     /* its number among arrays or objects */
	const struct dfa *text;
	/* Set where elements must differ.  plain: of numbers, one spelling of each; NULL for strings.
	 * count: [n_states] of plain, else of text: words from there, UINT64_MAX infinitely many;
	 * NULL: so from all */
	const struct dfa *plain;
	const uint64_t *count;
	struct array_shape *array;
	struct object_shape *object;
};

struct goal {
	uint32_t n_lits, *lit; /* while it is compiled */
	uint32_t n, cap;
	struct alt *alt;
	int live;
	int plain; /* numbers have no exponent: values are compared */
	/* of those: UINT64_MAX infinitely many; 0: few, but not counted */
	uint64_t values;
};

/* Rules are code: a character of a set, a choice, a jump, another rule, the end of the rule; in
 * constraints of parts also a byte that begins no character, a text of automaton plain[a] (b: a \ is
 * before each " of it), a JSON value of goal a.  What follows stands behind it, but for OP_SPLIT (a,
 * and b unless it is NOWHERE) and OP_JUMP (a). */
enum op { OP_CHAR, OP_SPLIT, OP_JUMP, OP_CALL, OP_END, OP_BYTE, OP_TEXT, OP_VALUE };

struct code {
	enum op op;
	uint32_t a, b;
};

/* ranges ascend and do not touch */
struct charset {
	uint32_t n;
	const struct dfa_range *at;
};

struct grammar {
	struct arena mem;
	uint64_t bytes;
	/* the first of these that is there says what the text is; neither: a value of goal root */
	const struct dfa *text;
	const struct code *code; /* begins at root */
	const struct charset *set;
	const struct dfa **plain; /* of OP_TEXT */
	uint32_t n_code;
	uint8_t *code_live; /* [n_code] some text leads from there to the end of the rule */
	uint8_t *code_ends; /* [n_code] the empty text does; of parts, else NULL */
	uint32_t root, n_goals, cap_goals;
	struct goal *goal;
	uint32_t n_dfas, cap_dfas;
	const struct dfa **dfa; /* owned */
	uint32_t n_arrays, cap_arrays, n_objects, cap_objects;
	struct array_shape **array;
	struct object_shape **object;
};

/* nothing satisfies it */
int ir_is_none(const struct grammar *g);
uint64_t ir_bytes(const struct grammar *g); /* that it takes of the budget, about */
void ir_free(struct grammar *g);
/* its automata alone; their bytes return to the budget, unless left is NULL */
void ir_free_dfas(struct grammar *g, struct budget *left);
/* the same, and its bytes return to the budget */
void ir_drop(struct grammar *g, struct budget *left);

/* What has been read of an object.  seen: a bit for each slot */
struct object_place {
	uint32_t n, needs;
	const uint32_t *seen;
};

/* Whether an object can be completed, with at least `more` further members. */
int object_can(const struct grammar *g, const struct object_shape *o, const struct object_place *p);
static inline int has_slot(const uint32_t *seen, uint32_t i) { return seen[i / 32] >> i % 32 & 1; }
/* Whether an array of n elements (at most steady) with these counters can be completed, and whether
 * it may end. */
static inline int array_can(const struct array_shape *a, uint32_t n, uint32_t c)
{
	return a->can ? a->can[(size_t)n * a->width + c] & 1 : n <= a->most;
}
int object_can_have(const struct grammar *g, const struct object_shape *o, uint32_t slot,
                    const struct options *value, uint32_t *seen);
int array_may_end(const struct array_shape *a, uint32_t n, uint32_t c);
/* The counters after adds; NOWHERE where one would exceed its maximum. */
uint32_t array_count(const struct array_shape *a, uint32_t c, uint32_t adds);
/* Whether each goal can be satisfied; what cannot is taken out. */
struct work;
int ir_prune(struct work *w, struct grammar *g);
/* Automata that nothing in g uses go: plain[0 .. n) do. */
int ir_sweep(struct grammar *g, struct work *w, uint32_t n_plain);
#endif
