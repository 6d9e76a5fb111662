/* arch/arch_list.h - ARCH(file in models/), each a row; a row stands behind the one it is like. */
ARCH(llama)
ARCH(granite)
ARCH(qwen2)
ARCH(qwen3)
ARCH(qwen3moe)
ARCH(gemma2)
ARCH(gemma3)
ARCH(phi3)
