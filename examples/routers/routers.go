package routers

import (
	"bufio"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"

	"github.com/firq-go/firq/firqhttp"
)

// NetHTTP is net/http's own mux, as a whole behind the middleware.
func NetHTTP(m *firqhttp.Middleware, hello http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello/{name}", hello)
	return m.Handler(mux)
}

// Chi takes middleware of net/http as it is; here for one group of routes.
func Chi(m *firqhttp.Middleware, hello http.HandlerFunc) http.Handler {
	r := chi.NewRouter()
	r.Group(func(r chi.Router) {
		r.Use(m.Handler)
		r.Get("/hello/{name}", hello)
	})
	return r
}

// Echo wraps middleware of net/http.
func Echo(m *firqhttp.Middleware, hello http.HandlerFunc) http.Handler {
	e := echo.New()
	e.Use(echo.WrapMiddleware(m.Handler))
	e.GET("/hello/:name", func(c echo.Context) error {
		hello(c.Response(), c.Request())
		return nil
	})
	return e
}

// Gin has its own kind of middleware: GinMiddleware is the bridge. Where the whole
// of a server is to be behind the middleware, m.Handler(engine) needs none.
func Gin(m *firqhttp.Middleware, hello http.HandlerFunc) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.Use(GinMiddleware(m))
	engine.GET("/hello/:name", func(c *gin.Context) { hello(c.Writer, c.Request) })
	return engine
}

// GinMiddleware is m as a handler of Gin.
func GinMiddleware(m *firqhttp.Middleware) gin.HandlerFunc {
	return func(c *gin.Context) {
		served := false
		next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			served = true
			before := c.Writer
			c.Writer, c.Request = ginWriter{before, w}, r
			defer func() { c.Writer = before }()
			c.Next()
		})
		m.Handler(next).ServeHTTP(c.Writer, c.Request)
		if !served {
			c.Abort() // the rejection is written
		}
	}
}

// ginWriter is Gin's writer, but for Hijack: the middleware's keeps the slot until
// the connection is closed.
type ginWriter struct {
	gin.ResponseWriter
	outer http.ResponseWriter
}

// Hijack implements http.Hijacker.
func (w ginWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.outer).Hijack()
}
