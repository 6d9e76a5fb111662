/* hub/choose.h (private) - which files of a repository make a model. */
#ifndef HUB_CHOOSE_H
#define HUB_CHOOSE_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "base/arena.h"

/* A file of a repository.  path: relative, checked by hub_path_ok. */
struct hub_entry {
	const char *path;
	uint64_t bytes;
};

struct hub_choice {
	int is_dir;        /* 1: a directory of safetensors; 0: a GGUF file */
	size_t *at, n;     /* indices of the model's files in the list */
	uint64_t bytes;    /* total of these files */
	const char *first; /* the GGUF file to open: part 1 of a split one; NULL: a directory */
	char note[200];    /* sentence: the choice, and an mmproj file that is not used; "" if
	                    * `what` names a file */
};

/* True for a relative path of at most HUB_PATH_MOST bytes of UTF-8 and HUB_PARTS_MOST parts, without empty parts, ".",
 * "..", control characters and backslashes. */
enum { HUB_PATH_MOST = 1024, HUB_PARTS_MOST = 28 };
int hub_path_ok(const char *path, size_t n);

/* Choose the files of a model.
 * what  a file's path, a quantisation ("Q4_K_M", in any case), or NULL: the best GGUF file of at
 *       most 4/5 of memory_bytes (0: any size), or the directory if there are no GGUF files.
 *       Order: Q4_K_M, the largest of 4 bits, the smallest of 5 to 8 bits, the largest below
 *       4 bits, the smallest of all
 * ref   the reference up to `what`, for messages
 * INFER_EINVAL   `what` matches no file, or several models; the message lists the models
 * INFER_EFORMAT  a split file lacks parts
 * INFER_EUNSUP   the list has no model that can be run
 * INFER_ENOMEM   no file fits memory_bytes, or out of memory */
int hub_choose(struct hub_choice *c, struct arena *mem, const struct hub_entry *e, size_t n,
               const char *what, uint64_t memory_bytes, const char *ref, infer_error *err);
#endif
