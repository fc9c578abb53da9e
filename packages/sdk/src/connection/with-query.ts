/** `?…`, or nothing. (`URLSearchParams.size` is missing in some browsers.) */
export function withQuery(query: URLSearchParams): string {
  const text = query.toString();
  return text && `?${text}`;
}
