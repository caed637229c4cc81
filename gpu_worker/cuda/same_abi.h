// Whether two function types are called alike, though their parameters' types have
// different names.
#ifndef EVENPACK_GPU_WORKER_CUDA_SAME_ABI_H_
#define EVENPACK_GPU_WORKER_CUDA_SAME_ABI_H_

#include <type_traits>

namespace evenpack::worker {

// Numbers and enums of one size, pointers, or structs of one size and alignment.
template <typename A, typename B>
constexpr bool SameAbiOf() {
  if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>) {
    return std::is_pointer_v<A> && std::is_pointer_v<B>;
  } else if constexpr (std::is_class_v<A> || std::is_class_v<B>) {
    return std::is_class_v<A> && std::is_class_v<B> && sizeof(A) == sizeof(B) &&
           alignof(A) == alignof(B) && std::is_trivially_copyable_v<A>;
  } else {
    return std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
           sizeof(A) == sizeof(B);
  }
}

template <typename F, typename G>
inline constexpr bool kSameAbi = false;
template <typename F, typename... P, typename G, typename... Q>
requires(sizeof...(P) ==
         sizeof...(Q)) inline constexpr bool kSameAbi<F (*)(P...), G (*)(Q...)> =
    SameAbiOf<F, G>() && (SameAbiOf<P, Q>() && ...);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_SAME_ABI_H_
