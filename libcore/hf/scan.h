/* hf/scan.h (private) - a pull parser for tokenizer.json, which may be too large (40 MB) to build a
 * tree of.
 * The text must be UTF-8 (hf_scan_open checks it).  Confined. */
#ifndef HF_SCAN_H
#define HF_SCAN_H
#include "hf/hf.h"

struct hf_scan {
	struct hf_dir *d;   /* decoded strings are in its `brief` */
	const char *name;   /* file name, for messages */
	const char *member; /* "model.vocab", for messages; NULL: the whole file */
	const char *text, *at, *end;
};

/* Begin at the start of t.  INFER_EFORMAT: not UTF-8, empty, or of 4 GiB or more */
int hf_scan_open(struct hf_scan *s, struct hf_dir *d, const struct hf_text *t, infer_error *err);
/* Fail at the current position; the message names the file and the byte. */
int hf_scan_fail(const struct hf_scan *s, infer_error *err, const char *why);
/* Skip white space; true if the next byte is c. */
int hf_scan_is(struct hf_scan *s, char c);
/* Skip white space and the byte c.  INFER_EFORMAT: another byte */
int hf_scan_take(struct hf_scan *s, char c, infer_error *err);
/* Read the separator between elements of an array or object that ends with `close`.  *more: 0 at
 * the end.  first: no element has been read since the opening bracket.  INFER_EFORMAT */
int hf_scan_more(struct hf_scan *s, char close, int first, int *more, infer_error *err);
/* Read a string and decode it.  It is borrowed from the text if it has no escapes.  INFER_EFORMAT;
 * INFER_ENOMEM */
int hf_scan_str(struct hf_scan *s, struct infer_str *out, infer_error *err);
/* Read a number.  INFER_EFORMAT: not a number, or too large for a double */
int hf_scan_num(struct hf_scan *s, struct json *out, infer_error *err);
/* Read any value as text.  Only its brackets and strings are checked.
 * INFER_EFORMAT: a bracket or string is not closed, or nesting exceeds JREAD_DEPTH */
int hf_scan_value(struct hf_scan *s, struct infer_str *out, infer_error *err);
/* Parse the text of a value into a tree in arena a.  INFER_EFORMAT: not JSON; INFER_EUNSUP: more
 * than `most` bytes; INFER_ENOMEM */
int hf_scan_tree(const struct hf_scan *s, struct infer_str value, size_t most, const char *member,
                 struct arena *a, const struct json **out, infer_error *err);
#endif
