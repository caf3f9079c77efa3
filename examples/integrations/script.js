// What the build of the integration writes. It can read the secrets that it was published with.
export default {
  async fetch(request, context) {
    return new Response("chart", { headers: { "x-key": context.secrets.apiKey } });
  },
};
