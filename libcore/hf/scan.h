/* hf/scan.h (private) - tokenizer.json piece by piece: it may have 40 MB, of which no tree is built.
 * The text must be UTF-8 (hf_scan_open checks it).  Confined. */
#ifndef HF_SCAN_H
#define HF_SCAN_H
#include "hf/hf.h"

struct hf_scan {
	struct hf_dir *d;   /* decoded strings are in its `brief` */
	const char *name;   /* of the file, for messages */
	const char *member; /* "model.vocab", for messages; NULL: of the whole */
	const char *text, *at, *end;
};

/* Begin at the start of t.  INFER_EFORMAT: not UTF-8, empty, or of 4 GiB or more */
int hf_scan_open(struct hf_scan *s, struct hf_dir *d, const struct hf_text *t, infer_error *err);
/* Fail at the current place, with the name of the file and the byte. */
int hf_scan_fail(const struct hf_scan *s, infer_error *err, const char *why);
/* Skip white space; true if the next byte is c. */
int hf_scan_is(struct hf_scan *s, char c);
/* Skip white space and the byte c.  INFER_EFORMAT: another byte */
int hf_scan_take(struct hf_scan *s, char c, infer_error *err);
/* Between the elements of an array or object that ends with `close`, after its opening bracket:
 * *more is 0 at its end.  first: none has been read yet.  INFER_EFORMAT */
int hf_scan_more(struct hf_scan *s, char close, int first, int *more, infer_error *err);
/* A string, decoded; borrowed from the text if it has no escapes.  INFER_EFORMAT */
int hf_scan_str(struct hf_scan *s, struct infer_str *out, infer_error *err);
/* A number.  INFER_EFORMAT: not one, or too large for a double */
int hf_scan_num(struct hf_scan *s, struct json *out, infer_error *err);
/* The text of any value.  Its brackets and strings are closed; nothing else of it is checked.
 * INFER_EFORMAT: it is not, or nested deeper than JREAD_DEPTH */
int hf_scan_value(struct hf_scan *s, struct infer_str *out, infer_error *err);
/* The tree of a value, in a.  most: bytes.  INFER_EFORMAT: not JSON; INFER_EUNSUP: longer */
int hf_scan_tree(const struct hf_scan *s, struct infer_str value, size_t most, const char *member,
                 struct arena *a, const struct json **out, infer_error *err);
#endif
