/* grammar/parts_tree.h - (private) parts while they are put together.  Confined. */
#ifndef GRAMMAR_PARTS_TREE_H
#define GRAMMAR_PARTS_TREE_H
#include "ir/ir.h"
#include "grammar/parts.h"
#include "automata/work.h"

enum piece_kind {
	PIECE_NEVER,
	PIECE_TEXT, /* s[0 .. n) */
	PIECE_BYTE,
	PIECE_SEQUENCE,
	PIECE_EITHER,
	PIECE_REPEAT, /* the kid a ... b times */
	PIECE_PLAIN,  /* automaton plain[a]; b: escapes */
	PIECE_VALUE,  /* goal a */
	PIECE_CALL    /* part a, whose code is there once; it may contain this one */
};

struct piece {
	enum piece_kind kind;
	uint32_t a, b;
	const char *s;
	uint32_t n; /* bytes, kids */
	uint32_t *kid;
	uint32_t start; /* of its code, where it is called */
};

/* a goal that is spelled: its part */
struct spelled {
	uint32_t goal, part;
	const struct part_spelling *how;
};

struct parts {
	struct work tree, w; /* of the pieces; of the grammar */
	struct grammar *g;
	int rc, blamed; /* of the first failure; its message has got its subject */
	const struct dfa_word *control;
	size_t n_controls;
	struct piece *piece;
	struct spelled *spelled;
	struct code *code;
	struct charset *set;
	uint32_t n_pieces, cap_pieces, n_spelled, cap_spelled, n_plain, cap_plain, n_code, cap_code,
		n_sets, cap_sets, n_calls, cap_calls;
	uint32_t *call;      /* parts that are called, in the order of their first use */
	uint32_t ascii[128]; /* the set of a character + 1 */
};

/* parts.c */
/* A copy of the piece; PART_NONE where p has failed. */
uint32_t piece_add(struct parts *p, const struct piece *like);
uint32_t piece_fail(struct parts *p, int rc); /* PART_NONE */
/* Takes ownership of the automaton d; rc, if not 0, says why there is none. */
uint32_t piece_plain(struct parts *p, int rc, struct dfa *d, int escapes);
uint32_t piece_borrowed(struct parts *p, const struct dfa *d, int escapes);
/* parts_spell.c: the values of the goal whose types are among these bits */
uint32_t piece_of_types(struct parts *p, uint32_t goal, uint32_t types);
/* parts_free.c: texts that contain this one somewhere */
int parts_contain(struct parts *p, struct dfa **out, const char *what);
/* parts_code.c: the code of all that the part needs, in g. */
int parts_code(struct parts *p, uint32_t root);
#endif
