/* ir/ir.h - a compiled constraint: goals for JSON values, code for rules, or one automaton.  For
 * the modules that compile constraints (schema, gbnf, grammar) or read them (ir, mask).
 *
 * A goal is a set of JSON values: the union of its alternatives, each of one type.  An option is a
 * goal for an element or member, with the counters of the array (`contains`) that it increments, or
 * the needs of the object that it meets.  Immutable once compiled: share it freely. */
#ifndef IR_IR_H
#define IR_IR_H
#include "base/arena.h"
#include "automata/dfa.h"

enum alt_type { ALT_NULL, ALT_FALSE, ALT_TRUE, ALT_NUMBER, ALT_STRING, ALT_ARRAY, ALT_OBJECT };

struct option {
	uint32_t goal;
	uint32_t adds; /* bits: counters that it increments, needs that it meets */
};

struct options {
	uint32_t n;
	struct option *at;
};

struct counter {
	uint32_t min, max; /* max DFA_FOREVER: none, and counting stops at min */
	uint32_t stride;   /* weight of its digit in the number that encodes all counters */
};

struct array_shape {
	uint32_t min, max;          /* elements; max DFA_FOREVER: none */
	uint32_t n_prefix;          /* elements with options of their own */
	struct options *item;       /* [n_prefix + 1], the last for all further elements */
	uint32_t n_counters, width; /* width: values of the number that encodes them */
	struct counter *counter;
	uint32_t steady; /* from here on, elements have equal options and no counters; or max */
	uint8_t *can;    /* [steady + 1][width] 1: can be completed; NULL: width is 1, see most */
	uint32_t most;   /* most elements that the array can have */
	int unique;      /* no two elements may be equal */
};

/* a property with a name of its own; slots are sorted by name */
struct slot {
	const char *name;
	uint32_t n, rank; /* bytes of name; the position in an ordered object */
	int required;
	struct options value;
};

/* a set of names with the same options, infinite or very large */
struct key_class {
	const struct dfa *names;
	const uint64_t *count; /* [n_states] words from each state; NULL: infinite for all */
	struct options value;
};

struct object_shape {
	uint32_t n_slots, n_classes, min, max;
	uint32_t needs;    /* bits: conditions that some member must meet */
	uint32_t required; /* the number of required slots */
	int easy;          /* no needs, no bounds: every prefix can be completed */
	int ordered;       /* members ascend by rank; names of classes come last */
	struct slot *slot; /* sorted by name */
	struct key_class *class;
};

struct alt {
	uint8_t type, live;     /* enum alt_type; 1: some value satisfies it */
	uint32_t shape;         /* index into grammar.array or grammar.object */
	const struct dfa *text; /* automaton of a number or string */
	/* Strings: the fewest and most characters, where text does not bound them; 0: no bound */
	uint32_t fewest, most;
	/* of states of text: the greatest distance to the nearest end; 1 + that to the farthest end
	 * where it is finite (0: nowhere) */
	uint32_t deep, high;
	/* Set in elements of unique arrays.  plain: the shortest notation of each number; NULL for
	 * strings. count: [n_states] words accepted from a state of plain, else of text,
	 * UINT64_MAX: infinitely many; NULL: infinitely many from all */
	const struct dfa *plain;
	const uint64_t *count;
	struct array_shape *array;
	struct object_shape *object;
};

struct goal {
	uint32_t n_lits, *lit; /* literals (schema/compile.h), used while compiling */
	uint32_t n, cap;
	struct alt *alt;
	int live;        /* some value satisfies it */
	int closed;      /* while compiling: it has closed objects (schema_opts.closed) */
	int plain;       /* of elements of a unique array: its numbers have no exponent */
	uint64_t values; /* how many, if plain; UINT64_MAX: infinitely many; 0: few, not counted */
};

/* An instruction of a rule; the next one follows it, except where noted. */
enum op {
	OP_CHAR,  /* read a character of set a */
	OP_SPLIT, /* go to a, and to b unless it is NOWHERE */
	OP_JUMP,  /* go to a */
	OP_CALL,  /* call the rule that begins at a */
	OP_END,   /* the end of the rule */
	OP_BYTE,  /* read the byte a; as the next two, only in constraints built from parts */
	OP_TEXT,  /* read a text of automaton plain[a]; b: 1: each " in it is preceded by a \ */
	OP_VALUE, /* read a JSON value of goal a */
	OP_TOKEN, /* read a token of token_set[a], whatever its bytes */
	OP_LEX    /* read a terminal, a text of plain[a] that is not empty; b: 1: the shortest */
};

struct code {
	enum op op;
	uint32_t a, b;
};

/* tokens by id or by text; negated: all others */
struct token_set {
	int negated;
	uint32_t n_ranges, n;
	const struct dfa_range *range; /* ids */
	const char *name;              /* [n] the text of one token; NULL: none */
};

/* a set of characters; ranges ascend and do not touch */
struct charset {
	uint32_t n;
	const struct dfa_range *at;
};

struct grammar {
	struct arena mem;
	uint64_t bytes; /* of mem, taken from the budget */
	/* The texts: those of `text`, if not NULL; else of the rule at code[root], if code is not
	 * NULL; else the JSON values of goal root. */
	const struct dfa *text;
	const struct code *code;
	const struct charset *set;
	const struct dfa **plain; /* of OP_TEXT and OP_LEX */
	struct token_set *token_set;
	uint32_t n_token_sets;
	/* Lexed: terminals (OP_LEX) are read as ir/match_lex.c says.  Before each of them, texts of
	 * plain[skip] are skipped (NOWHERE: none): once or any number of times; skip_first: also
	 * before the first */
	int lexed, skip_once, skip_first;
	uint32_t skip;
	uint32_t n_code;
	uint8_t *code_live; /* [n_code] 1: some text leads from here to the end of the rule */
	uint8_t *code_ends; /* [n_code] 1: the empty text does; or NULL */
	uint32_t root, n_goals, cap_goals;
	struct goal *goal;
	uint32_t n_dfas, cap_dfas;
	const struct dfa **dfa; /* owned */
	uint32_t n_arrays, cap_arrays, n_objects, cap_objects;
	struct array_shape **array;
	struct object_shape **object;
};

int ir_is_none(const struct grammar *g);    /* 1: no text satisfies it */
uint64_t ir_bytes(const struct grammar *g); /* approximate memory */
void ir_free(struct grammar *g);            /* NULL is fine, here and in ir_drop */
/* Free g and return its bytes to the budget. */
void ir_drop(struct grammar *g, struct budget *left);
/* Free the automata of g alone; return their bytes to the budget unless left is NULL. */
void ir_free_dfas(struct grammar *g, struct budget *left);

/* the members of an object that were read so far */
struct object_state {
	uint32_t n, needs;    /* number of members; needs not met yet */
	const uint32_t *seen; /* bits: slots */
};

/* True if the object can be completed. */
int object_can_complete(const struct grammar *g, const struct object_shape *o,
                        const struct object_state *p);
static inline int has_slot(const uint32_t *seen, uint32_t i) { return seen[i / 32] >> i % 32 & 1; }
/* True if an array of n elements (at most steady) with counters c can be completed. */
static inline int array_can_complete(const struct array_shape *a, uint32_t n, uint32_t c)
{
	return a->can ? a->can[(size_t)n * a->width + c] & 1 : n <= a->most;
}
/* True if an object whose first member is of that slot (NOWHERE: of a class) and value can be
 * completed.  seen: scratch, a bit for each slot, all clear before and after */
int object_can_begin_with(const struct grammar *g, const struct object_shape *o, uint32_t slot,
                          const struct options *value, uint32_t *seen);
/* True if the array may end after n elements. */
int array_may_end(const struct array_shape *a, uint32_t n, uint32_t c);
/* Return the counters after an element with `adds`, or NOWHERE if one exceeds its maximum. */
uint32_t array_count(const struct array_shape *a, uint32_t c, uint32_t adds);
struct work;
/* Set `live` of goals and alternatives that some value satisfies.  INFER_EUNSUP  the budget;
 * INFER_ENOMEM */
int ir_find_live(struct work *w, struct grammar *g);
/* As ir_find_live, and remove options and alternatives that nothing satisfies. */
int ir_prune(struct work *w, struct grammar *g);
/* Set yes[pc] (yes: [n_code], zeroed by the caller) if some text leads from code[pc] to the end of
 * the rule; with `empty`, if the empty text does.  Errors as ir_prune. */
int ir_find_ends(struct work *w, const struct grammar *g, uint8_t *yes, int empty);
/* Free the automata that g does not use; plain[0 .. n_plain) are in use.  Errors as ir_prune. */
int ir_sweep(struct grammar *g, struct work *w, uint32_t n_plain);
#endif
