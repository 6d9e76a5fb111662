/* grammar/parts_tree.h - (private) the tree of parts.  Confined. */
#ifndef GRAMMAR_PARTS_TREE_H
#define GRAMMAR_PARTS_TREE_H
#include "ir/ir.h"
#include "grammar/parts.h"
#include "automata/work.h"

enum piece_kind {
	PIECE_NEVER,
	PIECE_TEXT, /* the literal s[0 .. n) */
	PIECE_BYTE,
	PIECE_SEQUENCE,
	PIECE_EITHER,
	PIECE_REPEAT, /* the kid a ... b times */
	PIECE_PLAIN,  /* texts of automaton plain[a]; b: as in OP_TEXT */
	PIECE_VALUE,  /* a JSON value of goal a */
	PIECE_CALL,   /* part a, which is compiled once and may contain this one */
	PIECE_CODE    /* the code of parts_grammar, from `start`; it is only called */
};

struct piece {
	enum piece_kind kind;
	uint32_t a, b;
	const char *s;
	uint32_t n; /* bytes of s; kids */
	uint32_t *kid;
	uint32_t start; /* index of its code, if it is called */
};

/* the part made for a goal in a format */
struct spelled {
	uint32_t goal, part;
	const struct part_spelling *how;
};

struct parts {
	struct work tree, w; /* tree: memory of the pieces; w: of the grammar */
	struct grammar *g;
	int rc, blamed; /* rc: first failure; blamed: its message has a subject (parts_blame) */
	const struct dfa_word *control;
	size_t n_controls;
	struct piece *piece;
	struct spelled *spelled;
	struct code *code;
	struct charset *set;
	uint32_t n_pieces, cap_pieces, n_spelled, cap_spelled, n_plain, cap_plain, n_code, cap_code,
		n_sets, cap_sets, n_calls, cap_calls, cap_token_sets;
	uint32_t *call;      /* parts that are called, in the order of their first use */
	uint32_t ascii[128]; /* index + 1 of the set of an ASCII character */
};

/* parts.c */
/* Add a copy of a piece; PART_NONE if p has failed. */
uint32_t piece_add(struct parts *p, const struct piece *like);
uint32_t piece_fail(struct parts *p, int rc); /* set p->rc; returns PART_NONE */
/* Add a piece of automaton d, which p->g then owns.  rc: result of making d */
uint32_t piece_plain(struct parts *p, int rc, struct dfa *d, int escapes);
/* Add a piece of an automaton that g owns. */
uint32_t piece_borrowed(struct parts *p, const struct dfa *d, int escapes);
/* parts_code.c: append one instruction. */
int piece_emit(struct parts *p, enum op op, uint32_t a, uint32_t b);
/* parts_spell.c: add the JSON values of the goal whose types are among these bits (1 << alt_type). */
uint32_t piece_of_types(struct parts *p, uint32_t goal, uint32_t types);
/* parts_free.c: set *out to the texts that contain `what`. */
int parts_contain(struct parts *p, struct dfa **out, const char *what);
/* parts_code.c: compile the part and all that it calls into p->g. */
int parts_code(struct parts *p, uint32_t root);
#endif
