/* hub/ref.h (private) - references to repositories of the hub: hf:ORG/REPO[@REV][:FILE-OR-QUANT]. */
#ifndef HUB_REF_H
#define HUB_REF_H
#include <stddef.h>
#include <infer/status.h>

/* Sizes of strings, with their NUL. */
enum { HUB_REPO = 98, HUB_REV = 130, HUB_FOLDER = HUB_REPO + 16, HUB_COMMIT = 41 };

struct hub_ref {
	char repo[HUB_REPO];               /* ORG/REPO */
	char folder[HUB_FOLDER];           /* folder in the cache: models--ORG--REPO */
	char rev[HUB_REV];                 /* revision; "main" if the reference has none */
	char base[HUB_REPO + HUB_REV + 8]; /* the reference without FILE-OR-QUANT */
	int has_rev;
	int is_commit;    /* rev is 40 hexadecimal digits */
	const char *what; /* FILE-OR-QUANT, borrowed from the text; NULL: none */
};

/* Parse a reference.  INFER_EINVAL names the part that is wrong. */
int hub_ref_parse(struct hub_ref *r, const char *text, infer_error *err);
/* Parse ORG/REPO[@REV][:FILE-OR-QUANT], with or without hf:. */
int hub_ref_parse_bare(struct hub_ref *r, const char *text, infer_error *err);
/* True for a name ORG/REPO that the hub allows.  n: bytes of s */
int hub_repo_ok(const char *s, size_t n);
/* True for the name of a branch, tag or commit that is safe as a path. */
int hub_rev_ok(const char *s, size_t n);
/* True for n lower-case hexadecimal digits and nothing else. */
int hub_is_hex(const char *s, size_t n);
#endif
