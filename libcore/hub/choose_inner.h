/* hub/choose_inner.h (private) - shared by choose.c and choose_dir.c. */
#ifndef HUB_CHOOSE_INNER_H
#define HUB_CHOOSE_INNER_H
#include "hub/choose.h"

/* Choose the files of a directory of safetensors.  INFER_EUNSUP: there are no safetensors; the
 * message names the weights in other formats. */
int hub_choose_dir(struct hub_choice *c, struct arena *mem, const struct hub_entry *e, size_t n,
                   const char *ref, infer_error *err);
/* Write "Q4_K_M, UD-Q2_K_XL, x.gguf and 3 more": the models among the files; "" if there is none. */
int hub_quants(char *out, size_t room, struct arena *mem, const struct hub_entry *e, size_t n,
               infer_error *err);
const char *hub_base(const char *path);          /* return the part after the last slash */
int hub_ends(const char *s, const char *ending); /* true if s ends so, in any case */
void hub_size(char out[16], uint64_t bytes);     /* write the size: "4.1 GB" */
#endif
