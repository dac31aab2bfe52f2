/** The producer API over HTTP, as an app that can be served or mounted, and the dashboard beside it. */
export { openDashboard } from './dashboard/open-dashboard.ts'
export { type AccessToken, accessTokenSchema } from './http/access.ts'
export { createHttpApp, type HttpApp } from './http/app.ts'
export type { PageFile, PageFiles } from './http/page-file.ts'
export { type HttpServer, type Servable, type ServeOptions, serveHttp } from './http/server.ts'
export type { Answered, DataFault, HttpOptions, MetricsText } from './http/settings.ts'
