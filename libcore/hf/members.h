/* hf/members.h (private) - check the members of a quantisation config against a table. */
#ifndef HF_MEMBERS_H
#define HF_MEMBERS_H
#include "hf/packed.h"

enum hf_member_kind {
	MEMBER_ANY,    /* any value */
	MEMBER_BOOL,   /* true or false */
	MEMBER_FALSE,  /* false only */
	MEMBER_TRUE,   /* true only */
	MEMBER_WHOLE,  /* an integer from low to high */
	MEMBER_STRING, /* one of `words`, NULL: any string */
	MEMBER_LIST,   /* an array of strings */
};
/* A row of the table.  The value null is accepted for each kind, as if the member were absent. */
struct hf_member {
	const char *key;
	enum hf_member_kind kind;
	int64_t low, high;
	const char *words; /* separated by spaces */
};
/* Check that each member of q has a row, and a value that its row accepts.
 * INFER_EUNSUP: a member without a row, or a value that is not supported; INFER_EFORMAT: a value of another type */
int hf_check_members(struct hf_dir *d, const struct json *q, const struct hf_member *rows, size_t n,
                     infer_error *err);
#define HF_CHECK_MEMBERS(d, q, rows, err) \
	hf_check_members(d, q, rows, sizeof rows / sizeof *rows, err)
#endif
